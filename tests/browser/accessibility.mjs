// Every screen, in light and dark and four widths: accessible, no wider than the window, no report
// of the content security policy, no error of a script, and nothing loaded from elsewhere.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Brain } from './brain.mjs'
import { complaints, inaccessible, isChromium, launch, signedIn } from './browsers.mjs'
import { usualPages, vault } from './content.mjs'
import { declaredPaths, findScreens } from './screens.mjs'

const WIDTHS = [360, 768, 1280, 2560]
const QUESTIONS = ['/?q=ada', '/?q=ada&explain=1', '/?q=nothingatall', '/?q=ada&type=person']
const MISSING = ['/page/nobody', '/page/not a name', '/web/diff/nobody', '/web/history/nobody']

let browser, brain, page, screens

before(async () => {
  brain = await Brain.start('screens')
  const pages = vault()
  if (pages) await brain.run(['import', pages])
  await usualPages(brain)
  browser = await launch()
  page = await signedIn(browser, brain)
  const starts = ['/', '/page/all', ...QUESTIONS]
  screens = [...await findScreens(page, brain, starts), ...MISSING]
  page.problems.length = 0
})

after(async () => {
  await browser?.close()
  await brain?.remove()
})

/** Returns by how many pixels the screen is wider than the window, and what is too wide. */
function tooWide() {
  const width = document.documentElement.clientWidth
  const excess = document.documentElement.scrollWidth - width
  if (excess <= 0) return []
  const wide = [...document.querySelectorAll('body *')].filter((it) => (
    it.getBoundingClientRect().right > width + 1))
  return [`${excess} px too wide: ${wide.slice(-3).map((it) => it.outerHTML.slice(0, 80))}`]
}

async function visit(path, scheme, widths) {
  const problems = []
  await page.goto(brain.url + path)
  // The answer 404 is also an error on the console.
  const isMissing = MISSING.includes(path)
  const found = await complaints(page, brain)
  problems.push(...found.filter((it) => !(isMissing && it.includes('404'))))
  for (const width of widths) {
    await page.setViewport({ width, height: 900 })
    const wrong = [...await inaccessible(page), ...await page.evaluate(tooWide)]
    problems.push(...wrong.map((it) => `${width} px: ${it}`))
  }
  page.problems.length = 0
  return problems.map((it) => `${path} (${scheme}): ${it}`)
}

async function visitAll(scheme, widths) {
  const problems = []
  for (const path of screens) problems.push(...await visit(path, scheme, widths))
  assert.deepEqual(problems, [])
}

test('links lead to every screen', async () => {
  const visited = screens.map((path) => path.split('?')[0])
  const lost = []
  for (const path of declaredPaths().filter((it) => !visited.includes(it))) {
    // Parts of screens and data are no documents.
    const text = await page.evaluate((it) => fetch(it).then((answer) => answer.text()), path)
    if (/^<!DOCTYPE html>/i.test(text) && !text.includes('That did not work')) lost.push(path)
  }
  assert.deepEqual(lost, [])
  assert.ok(screens.length > 25, screens.join('\n'))
  page.problems.length = 0
})

test('the watch sees what is forbidden', async () => {
  await page.goto(brain.url)
  await complaints(page, brain)
  await page.evaluate(() => {
    const script = document.createElement('script')
    script.textContent = 'window.ran = true'
    document.body.append(script)
    try { document.body.innerHTML = '<b>x</b>' } catch { /* Trusted Types. */ }
    document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/x.png' }))
  }).catch(() => {})
  await page.waitForFunction(() => window.__violations.length > 1)
  const found = await complaints(page, brain)
  assert.ok(found.some((it) => it.includes('script-src')), found.join('\n'))
  assert.ok(found.some((it) => it.includes('img-src')), found.join('\n'))
  assert.equal(await page.evaluate(() => window.ran), undefined)
  await page.evaluate(() => { document.body.append(document.createElement('img')) })
  const violations = await inaccessible(page)
  assert.ok(violations.some((it) => it.startsWith('image-alt')), violations.join('\n'))
})

if (isChromium) {
  for (const scheme of ['light', 'dark']) {
    test(`every screen, ${scheme}`, async () => {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      await visitAll(scheme, WIDTHS)
    })
  }
  test('every screen, forced colours and reduced motion', async () => {
    await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }])
    const session = await page.createCDPSession()
    const features = [{ name: 'forced-colors', value: 'active' }]
    await session.send('Emulation.setEmulatedMedia', { features })
    assert.ok(await page.evaluate(() => matchMedia('(forced-colors: active)').matches))
    await visitAll('forced colours', [768])
    await session.detach()
  })
} else {
  test('every screen', async () => visitAll('light', [360, 1280]))
}

test('screens of browsers that are not signed in', async () => {
  const context = await browser.createBrowserContext()
  const guest = await context.newPage()
  for (const path of ['/', '/web/status', '/open/used', '/page/all', '/clip']) {
    await guest.goto(brain.url + path)
    assert.deepEqual(await inaccessible(guest), [], path)
    await guest.setViewport({ width: 360, height: 740 })
    assert.deepEqual(await guest.evaluate(tooWide), [], path)
  }
  await context.close()
})
