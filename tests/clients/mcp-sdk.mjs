// Tests the official TypeScript SDK with a handshake: authorization by client credentials and by
// consent, then the tools.
import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { App, ISSUER, MACHINE_ID, MACHINE_SECRET, READ_TOKEN, readAndWrite, readOnly, server } from './mcp-work.mjs'

const fresh = () => new Client({ name: 'sdk', version: '1' })
const connected = async (options) => {
  const client = fresh()
  const transport = new StreamableHTTPClientTransport(server, options)
  await client.connect(transport)
  assert.equal(transport.protocolVersion, '2025-11-25')
  return client
}

await assert.rejects(connected({}), (error) => error.code === 401)
const machine = new ClientCredentialsProvider({ clientId: MACHINE_ID, clientSecret: MACHINE_SECRET, expectedIssuer: ISSUER })
const first = await connected({ authProvider: machine })
await readAndWrite(first, 'sdkmachine')
await first.close()

const app = new App()
const waiting = new StreamableHTTPClientTransport(server, { authProvider: app })
await assert.rejects(fresh().connect(waiting), UnauthorizedError)
await waiting.finishAuth(app.back.searchParams.get('code'))
const second = await connected({ authProvider: app })
await readAndWrite(second, 'sdkapp')
await second.close()

const third = await connected({ requestInit: { headers: { Authorization: `Bearer ${READ_TOKEN}` } } })
await readOnly(third)
await third.close()
console.log('@modelcontextprotocol/sdk: ok')
