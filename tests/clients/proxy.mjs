// A proxy to UPSTREAM that adds the bearer token TOKEN, for test programs that send no token. It
// does not change bodies, event streams, `Host` and `Origin`. Prints its address.
import http from 'node:http'

const { UPSTREAM, TOKEN } = process.env
const { hostname, port } = new URL(UPSTREAM)
const agent = new http.Agent({ keepAlive: true })

const server = http.createServer((request, response) => {
  const headers = [...request.rawHeaders, 'Authorization', `Bearer ${TOKEN}`]
  const { method, url: path } = request
  const options = { hostname, port, agent, method, path, headers, setHost: false }
  const upstreamRequest = http.request(options)
  upstreamRequest.on('response', (answer) => {
    response.writeHead(answer.statusCode, answer.statusMessage, answer.rawHeaders)
    response.flushHeaders()
    answer.pipe(response)
    answer.on('error', () => response.destroy())
  })
  upstreamRequest.on('error', (error) => {
    if (response.headersSent) response.destroy()
    else response.writeHead(502).end(`${error}`)
  })
  // Ends the request when the client disconnects, because an event stream does not end by itself.
  response.on('close', () => upstreamRequest.destroy())
  request.pipe(upstreamRequest)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
