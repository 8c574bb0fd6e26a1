// Prints how large and how fast the page is, with the least that the same browser needs for a page
// of a bare server. Figures of a debug build or of a busy machine say nothing.
import { Agent, createServer, get } from 'node:http'
import { gzipSync } from 'node:zlib'
import { Brain, programs } from './brain.mjs'
import { launch, open, signIn } from './browsers.mjs'
import { generatedPages } from './content.mjs'

const PAGES = Number(process.env.PAGES ?? 10_000)
const LOADS = 41
const KEYS = 'river stone market garden lantern harbour window signal copper orchard'

function at(values, part) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
}

const ms = (value) => `${value.toFixed(1)} ms`

function row(what, reach, values, floor) {
  const least = floor ? ms(at(floor, 0.5)) : '–'
  const shown = [what, ms(at(values, 0.5)), ms(at(values, 0.99)), least]
  console.log(`| ${shown.join(' | ')} | ${reach} |`)
}

/** Serves `pages` (path to HTML) without any work. */
async function bareServer(pages) {
  const server = createServer((request, response) => {
    const text = pages[request.url.split('?')[0]] ?? ''
    const type = request.url.endsWith('.js') ? 'text/javascript' : 'text/html; charset=utf-8'
    response.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) })
    response.end(text)
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return { server, url: `http://127.0.0.1:${server.address().port}` }
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

/** Requests `url` over one connection; returns the text and the milliseconds of each answer. */
async function requests(url, headers, times) {
  const took = []
  let text = ''
  for (let n = 0; n < times; n++) {
    const begun = performance.now()
    text = await new Promise((done, failed) => {
      get(url, { agent, headers }, (answer) => {
        const parts = []
        answer.on('data', (part) => parts.push(part))
        answer.on('end', () => done(Buffer.concat(parts).toString()))
      }).on('error', failed)
    })
    took.push(performance.now() - begun)
  }
  return { text, took: took.slice(Math.floor(times / 10)) }
}

/** Loads `url` again and again; returns the times until the first contentful paint. */
async function paints(page, url) {
  const times = []
  for (let n = 0; n < LOADS; n++) {
    await page.goto(url)
    const paint = await page.waitForFunction(() => (
      performance.getEntriesByName('first-contentful-paint')[0]?.startTime), { polling: 10 })
    times.push(await paint.jsonValue())
  }
  return times.slice(1)
}

/** Types `text`; returns for each key the time until the results are painted. */
async function keystrokes(page, text) {
  await page.focus('#q')
  await page.evaluate(() => {
    let pressed = 0
    window.__times = []
    addEventListener('keydown', (event) => { pressed = event.timeStamp }, true)
    // A message that is sent in a frame arrives after the frame is painted.
    const channel = new MessageChannel()
    channel.port1.onmessage = () => window.__times.push(performance.now() - pressed)
    new MutationObserver(() => requestAnimationFrame(() => channel.port2.postMessage(0)))
      .observe(document.getElementById('results'), { childList: true })
  })
  const times = []
  for (const word of text.split(' ')) {
    for (const key of word) {
      const count = await page.evaluate(() => window.__times.length)
      await page.keyboard.press(key)
      await page.waitForFunction((n) => window.__times.length > n, { polling: 5 }, count)
      times.push(await page.evaluate(() => window.__times.at(-1)))
    }
    await page.$eval('#q', (field) => { field.value = '' })
  }
  return times
}

const BARE_SEARCH = `<!doctype html><input id=q><div id=results></div><script>
  q.oninput = async () => {
    results.innerHTML = await (await fetch('/results?q=' + q.value)).text()
  }
</script>`

const brain = await Brain.start('figures')
const browser = await launch()
try {
  await brain.run(['import', generatedPages(brain.dir, PAGES)])
  const sentence = 'Some words of a text, *with* `marks` and [[note/page-0|a link]].\n\n'
  await brain.put('small', `# Small\n\n${sentence.repeat(1200 / sentence.length)}`)
  await brain.put('big', `# Big\n\n${sentence.repeat(1_000_000 / sentence.length)}`)
  const page = await signIn(await open(await browser.createBrowserContext()), brain)
  await page.setViewport({ width: 1280, height: 800 })
  const [cookie] = await page.browserContext().cookies()
  const headers = { Cookie: `${cookie.name}=${cookie.value}` }
  const read = async (path, times = 1) => requests(brain.url + path, headers, times)

  console.log(`programs: ${programs}; ${PAGES} pages; ${await browser.version()}\n`)
  await page.goto(`${brain.url}/page/small`)
  const files = await page.evaluate(() => performance.getEntriesByType('resource')
    .map((it) => new URL(it.name).pathname).filter((it) => it.startsWith('/web/assets/')))
  let size = 0
  for (const path of ['/', '/page/small', ...new Set(files)]) {
    const { text } = await read(path)
    size += gzipSync(text).length
  }
  console.log(`search and reader, with style and ${files.length - 1} scripts, gzip: ${(size / 1000).toFixed(1)} KB`
    + ' (reach: 150 KB)\n')

  const results = (await read('/web/results?q=lantern&typing=1')).text
  const [small, big] = [(await read('/page/small')).text, (await read('/page/big')).text]
  const bare = await bareServer({
    '/': '<!doctype html><title>x</title><p>Some words', '/search': BARE_SEARCH,
    '/results': results, '/small': small, '/big': big,
  })
  const of = async (path, times) => (await read(path, times)).took
  const floor = async (path, times) => (await requests(bare.url + path, {}, times)).took
  console.log('| what | median | p99 | floor, median | reach |\n|---|---|---|---|---|')
  row('first paint of the search', '100 ms', await paints(page, brain.url),
    await paints(page, bare.url))
  row('first paint of results', '', await paints(page, `${brain.url}/?q=lantern`))
  await page.goto(bare.url + '/search')
  const bareKeys = await keystrokes(page, KEYS)
  await page.goto(brain.url)
  row('keystroke to painted results', '30 ms, p99 60 ms', await keystrokes(page, KEYS), bareKeys)
  row('answer with results', '', await of('/web/results?q=lantern&typing=1', 200),
    await floor('/results', 200))
  row('answer, page of 1.2 KB', '2 ms', await of('/page/small', 300), await floor('/small', 300))
  row('answer, page of 1 MB', '50 ms', await of('/page/big', 40), await floor('/big', 40))
  row('first paint, page of 1.2 KB', '', await paints(page, `${brain.url}/page/small`))
  row('first paint, page of 1 MB', '', await paints(page, `${brain.url}/page/big`),
    await paints(page, `${bare.url}/big`))
  console.log(`\nresident memory of the daemon: ${(brain.memory() / 1e6).toFixed(1)} MB`)
  bare.server.closeAllConnections()
  bare.server.close()
} finally {
  await browser.close()
  await brain.remove()
  agent.destroy()
}
