// Starts the browsers of this system, and opens pages that record what they load and report.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import puppeteer from 'puppeteer-core'
import { PATIENCE } from './brain.mjs'

const PATHS = { chromium: '/usr/bin/chromium', firefox: '/usr/bin/firefox-esr' }
export const browserName = process.env.BROWSER ?? 'chromium'
export const isChromium = browserName === 'chromium'

/** Starts the browser. In it, the host name `local` resolves to this machine. */
export function launch({ local = '', dark = false } = {}) {
  const common = { headless: true, protocolTimeout: PATIENCE * 2 }
  if (!isChromium) {
    // WebDriver BiDi cannot set the colour scheme. In this preference, 0 is dark and 1 is light.
    const extraPrefsFirefox = {
      'layout.css.prefers-color-scheme.content-override': dark ? 0 : 1,
      'network.dns.localDomains': local,
    }
    return puppeteer.launch({
      ...common, browser: 'firefox', executablePath: PATHS.firefox, extraPrefsFirefox,
    })
  }
  const args = ['--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--disable-gpu',
    '--disable-features=Translate,OptimizationHints,MediaRouter']
  if (process.getuid() === 0) args.push('--no-sandbox')
  if (local) args.push(`--host-resolver-rules=MAP ${local} 127.0.0.1`)
  return puppeteer.launch({ ...common, executablePath: PATHS.chromium, args })
}

/** Records violations of the content security policy. Runs in the page. */
function recordViolations() {
  window.__violations = []
  document.addEventListener('securitypolicyviolation', (event) => {
    const { violatedDirective, blockedURI, sourceFile, lineNumber } = event
    window.__violations.push(`${violatedDirective}: ${blockedURI} ${sourceFile}:${lineNumber}`)
  })
}

/**
 * Opens a page in `context`. `page.problems` has console errors, script errors and dialogs, and
 * `page.loaded` the requested URLs, both since the last `complaints`.
 */
export async function open(context) {
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE)
  page.problems = []
  page.loaded = []
  page.on('console', (message) => {
    if (message.type() === 'error') page.problems.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => page.problems.push(`script: ${error.message}`))
  page.on('dialog', (dialog) => {
    page.problems.push(`dialog: ${dialog.message()}`)
    dialog.dismiss().catch(() => {})
  })
  page.on('request', (request) => page.loaded.push(request.url()))
  await page.evaluateOnNewDocument(recordViolations)
  return page
}

/** Opens a page in its own browser context and signs it in. `name` is the page to show. */
export async function signedIn(browser, brain, ...name) {
  const context = await browser.createBrowserContext()
  return signIn(await open(context), brain, ...name)
}

/** Signs the browser of `page` in, and waits for the screen that follows the sign-in. */
export async function signIn(page, brain, ...name) {
  await page.goto(await brain.address(...name))
  await page.waitForSelector('header.top nav')
  return page
}

/**
 * Shows the search, and waits until the browser has focused its field. It does this when it first
 * draws the page, which can be after `load`: a key before it goes nowhere.
 */
export async function showSearch(page, brain) {
  await page.goto(brain.url)
  await page.waitForFunction(() => document.activeElement.id === 'q', { polling: 50 })
}

/** Returns problems, violations and requests to other origins, and clears their records. */
export async function complaints(page, brain) {
  const violations = await page.evaluate(() => window.__violations ?? ['no record of violations'])
  const foreign = page.loaded.filter((url) => !url.startsWith(`${brain.url}/`)
    && !/^(about|data|blob|chrome|moz-extension):/.test(url))
  const found = [...page.problems, ...violations, ...foreign.map((url) => `loaded ${url}`)]
  page.problems.length = 0
  page.loaded.length = 0
  return found
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const colours = ['color-contrast', 'link-in-text-block']
/** Options for axe-core: only the rules about colours. */
export const COLOURS = { runOnly: colours }
/** Options for axe-core: all rules except those about colours. */
export const NO_COLOURS = {
  rules: Object.fromEntries(colours.map((it) => [it, { enabled: false }])),
}

/** Returns the violations that axe-core finds on the screen with these options. */
export async function inaccessible(page, axeOptions = {}) {
  if (!await page.evaluate('typeof axe === "object"')) await page.evaluate(axe)
  return page.evaluate(async (options) => {
    const { violations } = await axe.run(document, { ...options, preload: false })
    return violations.flatMap((rule) => rule.nodes.map((node) => (
      `${rule.id}: ${node.target.join(' ')}: ${node.failureSummary.replace(/\s+/g, ' ')}`)))
  }, { resultTypes: ['violations'], ...axeOptions })
}

/** Replaces the text of a field as a person does, key by key. */
export async function type(page, selector, text) {
  await page.focus(selector)
  await page.$eval(selector, (field) => field.select?.())
  await page.keyboard.press('Backspace')
  await page.keyboard.type(text)
}

/** Waits until the text of an element that matches `selector` contains `text`. */
export function shows(page, selector, text) {
  return page.waitForFunction(
    (elements, part) => [...document.querySelectorAll(elements)].some((it) => (
      it.textContent.includes(part))),
    { polling: 50 }, selector, text,
  )
}
