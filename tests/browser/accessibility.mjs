// Checks every screen in light and dark and in up to five widths: it is accessible and no wider
// than the window, violates no content security policy, has no script error, and loads nothing
// from other origins.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Brain } from './brain.mjs'
import {
  COLOURS, NO_COLOURS, complaints, inaccessible, isChromium, launch, open, signIn, signedIn,
} from './browsers.mjs'
import { usualPages, vault } from './content.mjs'
import { declaredPaths, visitScreens } from './screens.mjs'

const SCHEMES = isChromium ? ['light', 'dark'] : ['light']
const isWhole = isChromium && !process.env.QUICK
const WIDTHS = isWhole ? [360, 768, 1280, 1920, 2560] : isChromium ? [360, 1280] : [360]
const MISSING = ['/page/nobody', '/page/not%20a%20name', '/web/diff/nobody', '/web/history/nobody']
const STARTS = ['/', '/page/all', '/?q=ada', '/?q=ada&explain=1', '/?q=nothingatall',
  '/?q=ada&type=person', ...MISSING]

let browser, brain, page, screens

before(async () => {
  brain = await Brain.start('screens')
  await brain.run(['import', vault(brain)])
  await usualPages(brain)
  browser = await launch()
  page = await signedIn(browser, brain)
  await complaints(page, brain)
})

after(async () => {
  await browser?.close()
  await brain?.remove()
})

/** Returns a message if the screen is wider than the window: by how much, and what is too wide. */
function tooWide() {
  const width = document.documentElement.clientWidth
  const excess = document.documentElement.scrollWidth - width
  if (excess <= 0) return []
  const wide = [...document.querySelectorAll('body *')].filter((it) => (
    it.getBoundingClientRect().right > width + 1))
  return [`${excess} px too wide: ${wide.slice(-3).map((it) => it.outerHTML.slice(0, 80))}`]
}

/** Returns the problems of the screen at `path`, which the page shows. */
async function problemsOf(path, schemes, widths) {
  // The browser reports an answer 404 as an error on the console.
  const found = await complaints(page, brain)
  const problems = found.filter((it) => !(MISSING.includes(path) && it.includes('404')))
  for (const scheme of schemes) {
    if (isChromium) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
    }
    for (const width of widths) {
      await page.setViewport({ width, height: 900 })
      // The dark scheme changes only colours.
      const rules = scheme === 'dark' ? COLOURS : {}
      const here = [...await inaccessible(page, rules), ...await page.evaluate(tooWide)]
      problems.push(...here.map((it) => `${scheme}, ${width} px: ${it}`))
    }
  }
  page.problems.length = 0
  return problems.map((it) => `${path}: ${it}`)
}

test('every screen is accessible, fits the window, and has no problem', async () => {
  const problems = []
  screens = await visitScreens(page, brain, STARTS, async (path) => {
    problems.push(...await problemsOf(path, SCHEMES, WIDTHS))
  })
  console.log(`${screens.length} screens in ${SCHEMES.join(' and ')}, at ${WIDTHS.join(', ')} px: `
    + screens.join(' '))
  assert.deepEqual(problems, [])
})

test('links lead to every screen', async () => {
  const visited = screens.map((path) => path.split('?')[0])
  const unreachable = []
  for (const path of declaredPaths().filter((it) => !visited.includes(it))) {
    // Paths that return parts of screens or data need no link.
    const text = await page.evaluate((it) => fetch(it).then((answer) => answer.text()), path)
    const isScreen = /^<!DOCTYPE html>/i.test(text) && !text.includes('That did not work')
    if (isScreen) unreachable.push(path)
  }
  assert.deepEqual(unreachable, [])
  assert.ok(screens.length > 25, screens.join('\n'))
})

test('the checks find violations', async () => {
  await page.goto(brain.url)
  await complaints(page, brain)
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
  const found = (await complaints(page, brain)).join('\n')
  assert.match(found, /img-src: http:\/\/127\.0\.0\.1:9/)
  assert.match(found, /require-trusted-types-for|script-src/)
  await page.evaluate(() => { document.body.append(document.createElement('img')) })
  const violations = await inaccessible(page)
  assert.ok(violations.some((it) => it.startsWith('image-alt')), violations.join('\n'))
})

if (isChromium) {
  test('touch targets have at least 24 pixels', async () => {
    const context = await browser.createBrowserContext()
    const phone = await signIn(await open(context), brain)
    await phone.setViewport({ width: 360, height: 740, hasTouch: true, isMobile: true })
    const problems = []
    for (const path of screens.filter((_, at) => isWhole || at % 4 === 0)) {
      await phone.goto(brain.url + path)
      const here = await inaccessible(phone, { runOnly: ['target-size'] })
      problems.push(...here.map((it) => `${path}: ${it}`))
    }
    await context.close()
    assert.deepEqual(problems, [])
  })

  test('every screen works with forced colours and reduced motion', async () => {
    const session = await page.createCDPSession()
    const problems = []
    const features = [
      { name: 'forced-colors', value: 'active' },
      { name: 'prefers-reduced-motion', value: 'reduce' },
    ]
    for (const path of screens.filter((_, at) => isWhole || at % 4 === 0)) {
      await page.goto(brain.url + path)
      await session.send('Emulation.setEmulatedMedia', { features })
      assert.ok(await page.evaluate(() => matchMedia('(forced-colors: active)').matches))
      problems.push(...await problemsOf(path, [], []))
      // The system chooses the colours, and axe-core does not know them.
      const here = [...await inaccessible(page, NO_COLOURS), ...await page.evaluate(tooWide)]
      problems.push(...here.map((it) => `${path}, forced colours: ${it}`))
    }
    // Forced colours hide shadows and backgrounds, so a line marks the current screen.
    await page.goto(`${brain.url}/web/queue`)
    await session.send('Emulation.setEmulatedMedia', { features })
    const lines = await page.$$eval('[aria-current], .chip.on', (all) => all.map((it) => (
      getComputedStyle(it).textDecorationLine)))
    assert.deepEqual(lines, ['underline', 'underline', 'underline'])
    assert.deepEqual(problems, [])
  })
}

test('screens of browsers that are not signed in are accessible and fit', async () => {
  const context = await browser.createBrowserContext()
  const guest = await context.newPage()
  await guest.setViewport({ width: 360, height: 740 })
  for (const path of ['/', '/web/status', '/open/used', '/page/all', '/clip']) {
    await guest.goto(brain.url + path)
    assert.deepEqual(await inaccessible(guest), [], path)
    assert.deepEqual(await guest.evaluate(tooWide), [], path)
  }
  await context.close()
})
