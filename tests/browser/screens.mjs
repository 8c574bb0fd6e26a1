// Finds the screens by following the links of the page, so that a new screen is found by itself.
import { readFileSync } from 'node:fs'
import { isChromium } from './browsers.mjs'

const isWhole = isChromium && !process.env.QUICK
/** Addresses of one kind that are visited, and all. Firefox takes long for each. */
const OF_A_KIND = isWhole ? 2 : 1
const MAX = 100

/** Returns the kind of an address: its route, as far as it shows, and the names in its query. */
function kind(url) {
  const [, area, screen] = url.pathname.split('/')
  const fields = [...new Set(url.searchParams.keys())].sort().slice(0, isWhole ? 9 : 1).join('&')
  const route = area === 'web' ? `/web/${screen}` : `/${area}`
  const depth = url.pathname.split('/').length > 3 && area === 'web' ? '/…' : ''
  return `${route}${depth}?${fields}`
}

/**
 * Loads all screens that links lead to from `starts`, and calls `visit` with the path and the
 * answer of each. Returns the paths.
 */
export async function visitScreens(page, brain, starts, visit) {
  const found = []
  const counts = new Map()
  const seen = new Set()
  const queue = starts.map((path) => new URL(path, brain.url).href)
  while (queue.length > 0 && found.length < MAX) {
    const address = queue.shift().split('#')[0]
    const url = new URL(address)
    if (seen.has(address) || url.origin !== brain.url || url.pathname.startsWith('/open/')) continue
    seen.add(address)
    const count = counts.get(kind(url)) ?? 0
    if (count >= OF_A_KIND && !starts.includes(address.slice(brain.url.length))) continue
    counts.set(kind(url), count + 1)
    const answer = await page.goto(address).catch(() => null)
    if (!answer?.headers()['content-type']?.startsWith('text/html')) continue
    // The `href` of a link in a drawing is no text.
    queue.push(...await page.$$eval('a[href]:not([download])', (links) => (
      links.map((link) => new URL(link.getAttribute('href'), document.baseURI).href))))
    const path = address.slice(brain.url.length)
    found.push(path)
    await visit(path, answer)
  }
  return found
}

/** Returns the paths of `SCREENS` without a name in them, which are written in the source. */
export function declaredPaths() {
  const source = readFileSync('brain-daemon/crates/web/src/lib.rs', 'utf8')
  const list = source.match(/pub const SCREENS[^=]*= &\[([^\]]*)\]/)[1]
  return [...list.matchAll(/"(\/[^"{]*)"/g)].map(([, path]) => path)
}
