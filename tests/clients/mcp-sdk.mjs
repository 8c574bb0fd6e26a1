// Tests the official TypeScript SDK with a handshake: authorization by client credentials and by
// consent, then the tools.
import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import {
  App, ISSUER, MACHINE_ID, MACHINE_SECRET, READ_TOKEN, readAndWrite, readOnly, server,
} from './mcp-work.mjs'

const createClient = () => new Client({ name: 'sdk', version: '1' })
const connect = async (options) => {
  const client = createClient()
  const transport = new StreamableHTTPClientTransport(server, options)
  await client.connect(transport)
  assert.equal(transport.protocolVersion, '2025-11-25')
  return client
}

await assert.rejects(connect({}), (error) => error.code === 401)
const machine = new ClientCredentialsProvider({
  clientId: MACHINE_ID, clientSecret: MACHINE_SECRET, expectedIssuer: ISSUER,
})
const machineClient = await connect({ authProvider: machine })
await readAndWrite(machineClient, 'sdkmachine')
await machineClient.close()

const app = new App()
const appTransport = new StreamableHTTPClientTransport(server, { authProvider: app })
await assert.rejects(createClient().connect(appTransport), UnauthorizedError)
await appTransport.finishAuth(app.back.searchParams.get('code'))
const appClient = await connect({ authProvider: app })
await readAndWrite(appClient, 'sdkapp')
await appClient.close()

const headers = { Authorization: `Bearer ${READ_TOKEN}` }
const readClient = await connect({ requestInit: { headers } })
await readOnly(readClient)
await readClient.close()
console.log('@modelcontextprotocol/sdk: ok')
