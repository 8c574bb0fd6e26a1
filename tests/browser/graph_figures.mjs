// Prints the time from the click until the graph of many pages is drawn, in a browser without a
// GPU, and the memory of the daemon. `GRAPHS` has the numbers of pages.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Brain, programs } from './brain.mjs'
import { launch, open, signIn } from './browsers.mjs'
import { generatedPages } from './content.mjs'

const COUNTS = (process.env.GRAPHS ?? '10000 100000').split(' ').map(Number)
const GOALS = { 10000: '1 s', 100000: '4 s' }
const MEMORY_GOAL = 80e6
/** Maximum time of a wait for the daemon or the drawing. */
const MAX_MS = 600_000
/** Maximum wait until the daemon frees the layout, three minutes after its last use. */
const LAYOUT_WAIT_MS = 240_000

const seconds = (value) => `${(value / 1000).toFixed(2)} s`
const megabytes = (value) => `${(value / 1e6).toFixed(0)} MB`
/** Formats the resident memory, and in brackets the anonymous part. */
const memory = (brain) => `${megabytes(brain.memory())} (anonymous ${megabytes(brain.memory('RssAnon'))})`

/** Records when the drawing was painted. Runs in the page. */
function watchDrawing() {
  const check = () => {
    if (!document.querySelector('#graph[data-state=drawn]')) return requestAnimationFrame(check)
    // A message sent during a frame arrives after the browser has painted the frame.
    const channel = new MessageChannel()
    channel.port1.onmessage = () => { window.__drawnAt = performance.timeOrigin + performance.now() }
    channel.port2.postMessage(0)
  }
  requestAnimationFrame(check)
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

/** Waits until the daemon has used hardly any processor time for two seconds. */
async function waitUntilIdle(brain) {
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

/** Prints the row of a brain with `count` pages. */
async function measure(browser, count) {
  const brain = await Brain.start('graph')
  try {
    const startedAt = Date.now()
    await brain.run(['import', generatedPages(brain.dir, count)])
    console.error(`${count} pages imported in ${seconds(Date.now() - startedAt)}`)
    // A restart frees the memory that the import used.
    await brain.end()
    await brain.begin()
    await waitUntilIdle(brain)
    const before = memory(brain)
    const page = await signIn(await open(await browser.createBrowserContext()), brain)
    await page.setViewport({ width: 1280, height: 800 })
    await page.evaluateOnNewDocument(watchDrawing)
    const first = await draw(page, brain)
    const repeatedTimes = []
    for (let n = 0; n < 5; n++) repeatedTimes.push(await draw(page, brain))
    const after = memory(brain)
    await page.goto('about:blank')
    const end = Date.now() + LAYOUT_WAIT_MS
    while (brain.memory() > MEMORY_GOAL && Date.now() < end) await sleep(1000)
    const waited = LAYOUT_WAIT_MS - (end - Date.now())
    const row = [count, seconds(first), seconds(repeatedTimes.sort((a, b) => a - b)[2]),
      GOALS[count] ?? '–', before, after, `${memory(brain)} after ${seconds(waited)}`]
    console.log(`| ${row.join(' | ')} |`)
  } finally {
    await brain.remove()
  }
}

const browser = await launch()
try {
  console.log(`graph: programs ${programs}; ${await browser.version()}; memory: goal 80 MB\n`)
  console.log('| pages | first | again, median | goal | memory before | after | later |')
  console.log('|---|---|---|---|---|---|---|')
  for (const count of COUNTS) await measure(browser, count)
} finally {
  await browser.close()
}
