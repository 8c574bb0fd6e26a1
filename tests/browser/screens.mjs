// Finds the screens by following links, so that tests also visit new screens.
import { readFileSync } from 'node:fs'
import { isChromium } from './browsers.mjs'

const isWhole = isChromium && !process.env.QUICK
/** Maximum number of visited addresses of one kind. Firefox takes long for each. */
const MAX_OF_A_KIND = isWhole ? 2 : 1
/** Maximum number of visited addresses. */
const MAX_ADDRESSES = 100

/** Returns the kind of an address: the beginning of its path, and the names in its query. */
function kind(url) {
  const [, area, screen] = url.pathname.split('/')
  const fields = [...new Set(url.searchParams.keys())].sort().slice(0, isWhole ? 9 : 1).join('&')
  const route = area === 'web' ? `/web/${screen}` : `/${area}`
  const depth = url.pathname.split('/').length > 3 && area === 'web' ? '/…' : ''
  return `${route}${depth}?${fields}`
}

/**
 * Loads the screens at `starts` and those that links lead to, and calls `visit` with the path and
 * the answer of each. Visits only some addresses of one kind. Returns the paths.
 */
export async function visitScreens(page, brain, starts, visit) {
  const found = []
  const counts = new Map()
  const known = new Set()
  const queue = starts.map((path) => new URL(path, brain.url).href)
  while (queue.length > 0 && found.length < MAX_ADDRESSES) {
    const address = queue.shift().split('#')[0]
    const url = new URL(address)
    if (known.has(address) || url.origin !== brain.url) continue
    if (url.pathname.startsWith('/open/')) continue
    known.add(address)
    const count = counts.get(kind(url)) ?? 0
    if (count >= MAX_OF_A_KIND && !starts.includes(address.slice(brain.url.length))) continue
    counts.set(kind(url), count + 1)
    const answer = await page.goto(address).catch(() => null)
    if (!answer?.headers()['content-type']?.startsWith('text/html')) continue
    // In an SVG drawing, the property `href` of a link is an object, so the attribute is read.
    queue.push(...await page.$$eval('a[href]:not([download])', (links) => (
      links.map((link) => new URL(link.getAttribute('href'), document.baseURI).href))))
    const path = address.slice(brain.url.length)
    found.push(path)
    await visit(path, answer)
  }
  return found
}

/** Returns the paths of `GET_PATHS` in the source that have no parameter. */
export function declaredPaths() {
  const source = readFileSync('brain-daemon/crates/web/src/lib.rs', 'utf8')
  const list = source.match(/pub const GET_PATHS[^=]*= &\[([^\]]*)\]/)[1]
  return [...list.matchAll(/"(\/[^"{]*)"/g)].map(([, path]) => path)
}
