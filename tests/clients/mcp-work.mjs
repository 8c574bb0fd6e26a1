// The steps that the tests of both TypeScript clients of MCP share: authorization with the owner's
// browser, then the tools.
import assert from 'node:assert/strict'
import { consent } from './consent.mjs'

export const {
  ISSUER, MACHINE_ID, MACHINE_SECRET, READER_ID, READER_SECRET, PUBLIC_ID, READ_TOKEN, ADMIN_TOKEN,
} = process.env
export const server = new URL(`${ISSUER}/mcp`)

/**
 * The state of an application for people: a client without a secret, its tokens, and the state of
 * its authorization.
 */
export class App {
  redirectUrl = 'http://127.0.0.1:33421/callback'
  clientMetadata = {
    client_name: 'app', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none',
  }
  #session = {}
  /** The URL of the redirect, with the code. */
  back = undefined

  clientInformation = () => ({ client_id: PUBLIC_ID, issuer: ISSUER })
  tokens = () => this.#session.tokens
  saveTokens = (tokens) => void (this.#session.tokens = tokens)
  codeVerifier = () => this.#session.verifier
  saveCodeVerifier = (verifier) => void (this.#session.verifier = verifier)
  discoveryState = () => this.#session.discovery
  saveDiscoveryState = (state) => void (this.#session.discovery = state)
  async redirectToAuthorization(url) {
    assert.equal(url.searchParams.get('resource'), `${server}`)
    const scope = url.searchParams.get('scope')
    assert.equal(scope, 'read write', 'the first challenge names all scopes')
    assert.equal(url.searchParams.get('code_challenge_method'), 'S256')
    this.back = await consent(url, ADMIN_TOKEN)
  }
}

/** Calls a tool that returns no page text. Returns its structured content; its text content must be
 * the same JSON. */
async function call(client, name, args) {
  const answer = await client.callTool({ name, arguments: args })
  assert.ok(!answer.isError, JSON.stringify(answer.content))
  assert.equal(answer.content.length, 1)
  assert.deepEqual(JSON.parse(answer.content[0].text), answer.structuredContent)
  return answer.structuredContent
}

/** Lists tools, writes pages, finds and reads them. `mark` is a word that no other call writes. */
export async function readAndWrite(client, mark) {
  const names = (await client.listTools()).tools.map((tool) => tool.name)
  for (const name of ['search', 'fetch', 'capture', 'put_page']) {
    assert.ok(names.includes(name), `${name} is missing: ${names}`)
  }
  const note = `A note about ${mark}, taken in by a client.`
  const captured = await call(client, 'capture', { content: note })
  const content = `# Of ${mark}\n\nPut by a client.`
  const put = await call(client, 'put_page', { slug: `clients/${mark}`, content })
  assert.equal(put.slug, `clients/${mark}`)
  const { results } = await call(client, 'search', { query: mark })
  const ids = results.map((result) => result.id)
  for (const slug of [captured.slug, put.slug]) {
    assert.ok(ids.includes(slug), `${slug} is not found: ${ids}`)
  }
  const page = await call(client, 'fetch', { id: put.slug })
  assert.match(page.text, /Put by a client\./)
  assert.ok(page.title && URL.canParse(page.url), JSON.stringify(page))
  const resource = await client.readResource({ uri: `brain://page/${put.slug}` })
  assert.match(resource.contents[0].text, /Put by a client\./)
}

/** Checks that a read-only client can search, sees no writing tool, and cannot call one. */
export async function readOnly(client) {
  const names = (await client.listTools()).tools.map((tool) => tool.name)
  assert.ok(names.includes('search'), `${names}`)
  assert.ok(!names.includes('capture') && !names.includes('put_page'), `${names}`)
  await call(client, 'search', { query: 'client' })
  const capture = client.callTool({ name: 'capture', arguments: { content: 'refused' } })
  await assert.rejects(capture, (error) => {
    assert.match(`${error.message} ${error.requiredScope} ${JSON.stringify(error.data)}`, /write/)
    return true
  })
}
