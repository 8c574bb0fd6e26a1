// A proxy to UPSTREAM that adds the bearer token TOKEN, for testers without authorization. It does
// not change bodies, event streams, Host and Origin. Prints its address.
import http from 'node:http'

const { UPSTREAM, TOKEN } = process.env
const { hostname, port } = new URL(UPSTREAM)
const agent = new http.Agent({ keepAlive: true })

const server = http.createServer((request, response) => {
  const headers = [...request.rawHeaders, 'Authorization', `Bearer ${TOKEN}`]
  const passed = http.request({ hostname, port, agent, method: request.method, path: request.url, headers, setHost: false })
  passed.on('response', (answer) => {
    response.writeHead(answer.statusCode, answer.statusMessage, answer.rawHeaders)
    response.flushHeaders()
    answer.pipe(response)
    answer.on('error', () => response.destroy())
  })
  passed.on('error', (error) => (response.headersSent ? response.destroy() : response.writeHead(502).end(`${error}`)))
  // When a client disconnects, end its request: an event stream does not end by itself.
  response.on('close', () => passed.destroy())
  request.pipe(passed)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
