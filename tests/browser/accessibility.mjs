// Checks every screen in light and dark and in four widths: it is accessible and fits the window,
// follows the content security policy, has no script error, and loads nothing from elsewhere.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Brain } from './brain.mjs'
import {
  axeViolations, COLOURS, isChromium, launch, NO_COLOURS, signedIn, takeProblems,
} from './browsers.mjs'
import { usualPages, vault } from './content.mjs'
import { declaredPaths, visitScreens } from './screens.mjs'

const SCHEMES = isChromium ? ['light', 'dark'] : ['light']
const WIDTHS = isChromium && !process.env.QUICK ? [360, 768, 1280, 2560] : [360]
const MISSING = ['/page/nobody', '/page/not%20a%20name', '/web/diff/nobody', '/web/history/nobody']
const STARTS = ['/', '/page/all', '/?q=ada', '/?q=ada&explain=1', '/?q=nothingatall',
  '/?q=ada&type=person', ...MISSING]

let browser, brain, page, screens

before(async () => {
  brain = await Brain.start('screens')
  const pages = vault()
  if (pages) await brain.run(['import', pages])
  await usualPages(brain)
  browser = await launch()
  page = await signedIn(browser, brain)
  await takeProblems(page, brain)
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

/** Returns the problems of the current screen. */
async function problemsOn(path, schemes, widths) {
  // The answer 404 is also an error on the console.
  const found = await takeProblems(page, brain)
  const problems = found.filter((it) => !(MISSING.includes(path) && it.includes('404')))
  for (const scheme of schemes) {
    if (isChromium) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
    }
    for (const width of widths) {
      await page.setViewport({ width, height: 900 })
      // The dark scheme changes nothing but colours.
      const rules = scheme === 'dark' ? COLOURS : {}
      const here = [...await axeViolations(page, rules), ...await page.evaluate(tooWide)]
      problems.push(...here.map((it) => `${scheme}, ${width} px: ${it}`))
    }
  }
  page.problems.length = 0
  return problems.map((it) => `${path}: ${it}`)
}

test('every screen is accessible, fits, and causes no errors', async () => {
  const problems = []
  screens = await visitScreens(page, brain, STARTS, async (path) => {
    problems.push(...await problemsOn(path, SCHEMES, WIDTHS))
  })
  console.log(`${screens.length} screens: ${screens.join(' ')}`)
  assert.deepEqual(problems, [])
})

test('links lead to every screen', async () => {
  const visited = screens.map((path) => path.split('?')[0])
  const lost = []
  for (const path of declaredPaths().filter((it) => !visited.includes(it))) {
    // Addresses of data and of parts of screens return no document.
    const text = await page.evaluate((it) => fetch(it).then((answer) => answer.text()), path)
    if (/^<!DOCTYPE html>/i.test(text) && !text.includes('That did not work')) lost.push(path)
  }
  assert.deepEqual(lost, [])
  assert.ok(screens.length > 25, screens.join('\n'))
})

test('the checks detect forbidden content', async () => {
  await page.goto(brain.url)
  await takeProblems(page, brain)
  await page.evaluate(() => {
    const attempts = [
      () => { document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/x' })) },
      () => { document.body.insertAdjacentHTML('beforeend', '<b>x</b>') },
      () => { document.body.setAttribute('onclick', 'window.ran = true') },
    ]
    for (const attempt of attempts) {
      try { attempt() } catch { /* Trusted Types forbids it. */ }
    }
  })
  await page.waitForFunction(() => window.__violations.length > 1, { polling: 50 })
  const found = (await takeProblems(page, brain)).join('\n')
  assert.match(found, /img-src: http:\/\/127\.0\.0\.1:9/)
  assert.match(found, /require-trusted-types-for|script-src/)
  await page.evaluate(() => { document.body.append(document.createElement('img')) })
  const violations = await axeViolations(page)
  assert.ok(violations.some((it) => it.startsWith('image-alt')), violations.join('\n'))
})

if (isChromium) {
  test('every screen works with forced colours and reduced motion', async () => {
    const session = await page.createCDPSession()
    const problems = []
    const features = [
      { name: 'forced-colors', value: 'active' },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ]
    for (const path of screens) {
      await page.goto(brain.url + path)
      await session.send('Emulation.setEmulatedMedia', { features })
      assert.ok(await page.evaluate(() => matchMedia('(forced-colors: active)').matches))
      problems.push(...await problemsOn(path, [], []))
      // axe-core does not know the colours that the system chooses.
      const here = [...await axeViolations(page, NO_COLOURS), ...await page.evaluate(tooWide)]
      problems.push(...here.map((it) => `${path}, forced colours: ${it}`))
    }
    // Forced colours remove shadows and backgrounds, so a line marks the current screen.
    await page.goto(`${brain.url}/web/queue`)
    await session.send('Emulation.setEmulatedMedia', { features })
    const marked = await page.$$eval('[aria-current], .chip.on', (all) => all.map((it) => (
      getComputedStyle(it).textDecorationLine)))
    assert.deepEqual(marked, ['underline', 'underline', 'underline'])
    assert.deepEqual(problems, [])
  })
}

test('screens for signed-out browsers are accessible', async () => {
  const context = await browser.createBrowserContext()
  const guest = await context.newPage()
  await guest.setViewport({ width: 360, height: 740 })
  for (const path of ['/', '/web/status', '/open/used', '/page/all', '/clip']) {
    await guest.goto(brain.url + path)
    assert.deepEqual(await axeViolations(guest), [], path)
    assert.deepEqual(await guest.evaluate(tooWide), [], path)
  }
  await context.close()
})
