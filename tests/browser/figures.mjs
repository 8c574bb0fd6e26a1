// Prints size and speed of the web interface, and beside them the times of the same browser with a
// bare server. Figures of a debug build or of a busy machine mean nothing.
import { Agent, createServer, get } from 'node:http'
import { gzipSync } from 'node:zlib'
import { Brain, programs } from './brain.mjs'
import { launch, open, signIn } from './browsers.mjs'
import { generatedPages } from './content.mjs'

const PAGES = Number(process.env.PAGES ?? 10_000)
const LOADS = 41
const KEYS = 'river stone market garden lantern harbour window signal copper orchard'

/** Returns the value below which the part `share` (0 to 1) of `values` is. */
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

const ms = (value) => `${value.toFixed(1)} ms`

/** Prints a row. `baseline` has the times of the bare server, if it was measured. */
function row(name, goal, values, baseline) {
  const minimum = baseline ? ms(quantile(baseline, 0.5)) : '–'
  const cells = [name, ms(quantile(values, 0.5)), ms(quantile(values, 0.99)), minimum]
  console.log(`| ${cells.join(' | ')} | ${goal} |`)
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

/**
 * Requests `url` over one connection; returns the last text and the milliseconds of the answers,
 * without the first tenth.
 */
async function requests(url, headers, times) {
  const durations = []
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
    durations.push(performance.now() - begun)
  }
  return { text, durations: durations.slice(Math.floor(times / 10)) }
}

/** Loads `url` repeatedly; returns the times until the first contentful paint, but the first. */
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
    // A message sent during a frame arrives after the browser has painted the frame.
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
  console.log(`search and reader, with style and ${files.length - 1} scripts, gzip: `
    + `${(size / 1000).toFixed(1)} KB (goal: 150 KB)\n`)

  const results = (await read('/web/results?q=lantern&typing=1')).text
  const [small, big] = [(await read('/page/small')).text, (await read('/page/big')).text]
  const bare = await bareServer({
    '/': '<!doctype html><title>x</title><p>Some words', '/search': BARE_SEARCH,
    '/results': results, '/small': small, '/big': big,
  })
  const answers = async (path, times) => (await read(path, times)).durations
  const bareAnswers = async (path, times) => (await requests(bare.url + path, {}, times)).durations
  console.log('| what | median | p99 | bare server, median | goal |\n|---|---|---|---|---|')
  row('first paint of the search', '100 ms', await paints(page, brain.url),
    await paints(page, bare.url))
  row('first paint of results', '', await paints(page, `${brain.url}/?q=lantern`))
  await page.goto(bare.url + '/search')
  const bareKeys = await keystrokes(page, KEYS)
  await page.goto(brain.url)
  row('keystroke to painted results', '30 ms, p99 60 ms', await keystrokes(page, KEYS), bareKeys)
  row('answer with results', '', await answers('/web/results?q=lantern&typing=1', 200),
    await bareAnswers('/results', 200))
  row('answer, page of 1.2 KB', '2 ms', await answers('/page/small', 300),
    await bareAnswers('/small', 300))
  row('answer, page of 1 MB', '50 ms', await answers('/page/big', 40),
    await bareAnswers('/big', 40))
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
