// Writes pictures of the main screens to the directory in the first argument, in light and dark,
// for a desk and a telephone. The regular expression SCREENS selects screens by name.
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { Brain } from './brain.mjs'
import { launch, signedIn } from './browsers.mjs'
import { usualPages, vault } from './content.mjs'

const SIZES = { desk: [1280, 800], phone: [390, 844] }
const MAX_BYTES = 150_000
const dir = process.argv[2]

/** Makes a picture smaller, if pngquant is installed. Warns if it is still large. */
function shrink(path) {
  try {
    execFileSync('pngquant', ['--force', '--skip-if-larger', '--ext', '.png', '128', path])
  } catch (error) {
    if (error.code === 'ENOENT') return
    if (error.status !== 98 && error.status !== 99) throw error
  }
  if (statSync(path).size > MAX_BYTES) console.error(`${path} has ${statSync(path).size} bytes`)
}

const brain = await Brain.start('pictures')
const browser = await launch()
try {
  await brain.run(['import', vault(brain)])
  await usualPages(brain)
  const page = await signedIn(browser, brain)
  const result = await page.$$eval('#results a.title', (all) => all.map((it) => it.pathname))
  const company = result.find((it) => it.includes('companies/')) ?? result.at(-1)
  const name = company.slice('/page/'.length)
  const screens = {
    search: '/?q=ferry+customers+in+winter',
    page: (await brain.run(['list', '--type', 'company', '--limit', '1', '--quiet'])).trim(),
    everything: '/page/all',
    edit: `/web/edit/${name}`,
    versions: '/web/history/all',
    changes: '/web/diff/all?to=2',
  }
  screens.page = `/page/${screens.page.split(/\s/)[0] || name}`
  const links = await page.$$eval('header nav a', (all) => all.map((it) => it.pathname))
  await page.goto(`${brain.url}/web/status`)
  links.push(...await page.$$eval('nav.tabs a', (all) => all.map((it) => it.pathname)))
  for (const path of new Set(links)) screens[path.split('/').pop() || 'home'] = path
  const pattern = new RegExp(`^(${process.env.SCREENS ?? '.*'})$`)
  for (const [screen, path] of Object.entries(screens)) {
    if (!pattern.test(screen)) continue
    for (const [device, [width, height]] of Object.entries(SIZES)) {
      await page.setViewport({ width, height })
      for (const scheme of ['light', 'dark']) {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
        await page.goto(brain.url + path)
        await page.waitForNetworkIdle({ idleTime: 100, concurrency: 1 })
        if (screen === 'graph') await page.waitForSelector('#graph[data-state=drawn]')
        // The programs may be debug builds, so the pictures do not show their times.
        await page.evaluate(() => {
          document.activeElement?.blur()
          document.querySelector('.took')?.remove()
        })
        const file = join(dir, `${screen}-${device}-${scheme}.png`)
        await page.screenshot({ path: file })
        shrink(file)
      }
    }
  }
  console.log(`${Object.keys(screens).length} screens: ${Object.keys(screens).join(' ')}`)
} finally {
  await browser.close()
  await brain.remove()
}
