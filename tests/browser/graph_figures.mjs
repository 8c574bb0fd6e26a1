// Prints how long the graph of large brains takes from the click until it is drawn, by software,
// and the memory of the daemon. `GRAPHS` has the numbers of pages.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Brain, programs } from './brain.mjs'
import { launch, open, signIn } from './browsers.mjs'
import { generatedPages } from './content.mjs'

const COUNTS = (process.env.GRAPHS ?? '10000 100000').split(' ').map(Number)
const REACH = { 10000: '1 s', 100000: '4 s' }
const MEMORY_REACH = 80e6
/** No wait for the daemon or the drawing is longer. */
const MAX_MS = 600_000
/** The daemon forgets the places three minutes after their last use. */
const FORGOTTEN_MS = 240_000

const seconds = (value) => `${(value / 1000).toFixed(2)} s`
const megabytes = (value) => `${(value / 1e6).toFixed(0)} MB`
/** The resident memory, and its part that is not the program or another file. */
const memory = (brain) =>
  `${megabytes(brain.memory())} (anonymous ${megabytes(brain.memory('RssAnon'))})`

/** Keeps when the drawing was painted. Runs in the page. */
function watchDrawing() {
  const look = () => {
    if (!document.querySelector('#graph[data-state=drawn]')) return requestAnimationFrame(look)
    // A message that is sent in a frame arrives after the frame is painted.
    const channel = new MessageChannel()
    channel.port1.onmessage = () => {
      window.__drawnAt = performance.timeOrigin + performance.now()
    }
    channel.port2.postMessage(0)
  }
  requestAnimationFrame(look)
}

/** Clicks the link to the graph; returns the milliseconds until it is painted. */
async function draw(page, brain) {
  await page.goto(`${brain.url}/web/new`)
  const clickedAt = await page.evaluate(() => {
    const now = performance.timeOrigin + performance.now()
    setTimeout(() => document.querySelector("nav a[href='/web/graph']").click())
    return now
  })
  await page.waitForFunction(() => window.__drawnAt, { polling: 50, timeout: MAX_MS })
  return await page.evaluate(() => window.__drawnAt) - clickedAt
}

/** Waits until the daemon has used nearly no processor time for two seconds. */
async function idle(brain) {
  const ticks = () => {
    const fields = readFileSync(`/proc/${brain.daemon.pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return Number(fields[11]) + Number(fields[12])
  }
  for (const end = Date.now() + MAX_MS; Date.now() < end;) {
    const before = ticks()
    await sleep(2000)
    if (ticks() - before < 10) return
  }
}

async function measure(browser, count) {
  const brain = await Brain.start('graph')
  try {
    const startedAt = Date.now()
    await brain.run(['import', generatedPages(brain.dir, count)])
    console.error(`${count} pages imported in ${seconds(Date.now() - startedAt)}`)
    // A restart gives back what the import used, as on any day after it.
    await brain.end()
    await brain.begin()
    await idle(brain)
    const before = memory(brain)
    const page = await signIn(await open(await browser.createBrowserContext()), brain)
    await page.setViewport({ width: 1280, height: 800 })
    await page.evaluateOnNewDocument(watchDrawing)
    const first = await draw(page, brain)
    const repeatedTimes = []
    for (let n = 0; n < 5; n++) repeatedTimes.push(await draw(page, brain))
    const after = memory(brain)
    await page.goto('about:blank')
    const end = Date.now() + FORGOTTEN_MS
    while (brain.memory() > MEMORY_REACH && Date.now() < end) await sleep(1000)
    const waited = FORGOTTEN_MS - (end - Date.now())
    const row = [count, seconds(first), seconds(repeatedTimes.sort((a, b) => a - b)[2]),
      REACH[count] ?? '–', before, after, `${memory(brain)} after ${seconds(waited)}`]
    console.log(`| ${row.join(' | ')} |`)
  } finally {
    await brain.remove()
  }
}

const browser = await launch()
try {
  console.log(`graph: programs ${programs}; ${await browser.version()}; memory: reach 80 MB\n`)
  console.log('| pages | first | again, median | reach | memory before | after | later |')
  console.log('|---|---|---|---|---|---|---|')
  for (const count of COUNTS) await measure(browser, count)
} finally {
  await browser.close()
}
