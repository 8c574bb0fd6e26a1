// Tests the official TypeScript client of MCP, version 2, with a handshake (`legacy`) and without
// one (`auto`).
import assert from 'node:assert/strict'
import {
  Client, ClientCredentialsProvider, StreamableHTTPClientTransport, UnauthorizedError,
} from '@modelcontextprotocol/client'
import {
  App, ISSUER, MACHINE_ID, MACHINE_SECRET, READ_TOKEN, readAndWrite, readOnly, server,
} from './mcp-work.mjs'

for (const [mode, version] of [['legacy', '2025-11-25'], ['auto', '2026-07-28']]) {
  const options = { versionNegotiation: { mode } }
  const createClient = () => new Client({ name: 'client', version: '2' }, options)
  const connect = async (transportOptions) => {
    const client = createClient()
    await client.connect(new StreamableHTTPClientTransport(server, transportOptions))
    assert.equal(client.getNegotiatedProtocolVersion(), version)
    return client
  }

  await assert.rejects(connect({}), (error) => (
    /401|Unauthorized/i.test(`${error.status} ${error.name} ${error.message}`)))
  const machine = new ClientCredentialsProvider({
    clientId: MACHINE_ID, clientSecret: MACHINE_SECRET, expectedIssuer: ISSUER,
  })
  const machineClient = await connect({ authProvider: machine })
  await readAndWrite(machineClient, `client${mode}machine`)
  await machineClient.close()

  const app = new App()
  const transport = new StreamableHTTPClientTransport(server, { authProvider: app })
  await assert.rejects(createClient().connect(transport), UnauthorizedError)
  await transport.finishAuth(app.back.searchParams)
  const appClient = await connect({ authProvider: app })
  await readAndWrite(appClient, `client${mode}app`)
  await appClient.close()

  const headers = { Authorization: `Bearer ${READ_TOKEN}` }
  const readClient = await connect({ requestInit: { headers } })
  await readOnly(readClient)
  await readClient.close()
}
console.log('@modelcontextprotocol/client: ok')
