// Tests the official TypeScript client with and without a handshake.
import assert from 'node:assert/strict'
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { App, ISSUER, MACHINE_ID, MACHINE_SECRET, READ_TOKEN, readAndWrite, readOnly, server } from './mcp-work.mjs'

for (const [mode, version] of [['legacy', '2025-11-25'], ['auto', '2026-07-28']]) {
  const fresh = () => new Client({ name: 'client', version: '2' }, { versionNegotiation: { mode } })
  const connected = async (options) => {
    const client = fresh()
    await client.connect(new StreamableHTTPClientTransport(server, options))
    assert.equal(client.getNegotiatedProtocolVersion(), version)
    return client
  }

  await assert.rejects(connected({}), (error) => /401|Unauthorized/i.test(`${error.status} ${error.name} ${error.message}`))
  const machine = new ClientCredentialsProvider({ clientId: MACHINE_ID, clientSecret: MACHINE_SECRET, expectedIssuer: ISSUER })
  const first = await connected({ authProvider: machine })
  await readAndWrite(first, `client${mode}machine`)
  await first.close()

  const app = new App()
  const waiting = new StreamableHTTPClientTransport(server, { authProvider: app })
  await assert.rejects(fresh().connect(waiting), UnauthorizedError)
  await waiting.finishAuth(app.back.searchParams)
  const second = await connected({ authProvider: app })
  await readAndWrite(second, `client${mode}app`)
  await second.close()

  const third = await connected({ requestInit: { headers: { Authorization: `Bearer ${READ_TOKEN}` } } })
  await readOnly(third)
  await third.close()
}
console.log('@modelcontextprotocol/client: ok')
