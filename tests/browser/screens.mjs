// Finds the screens by following the links of the page, so that a new screen is found by itself.
import { readFileSync } from 'node:fs'

/** Addresses of one kind that are visited. */
const OF_A_KIND = 2
const MAX = 80

/** Returns the kind of an address: its route, as far as it shows, and the names in its query. */
function kind(url) {
  const [, area, screen] = url.pathname.split('/')
  const fields = [...new Set(url.searchParams.keys())].sort().join('&')
  const route = area === 'web' ? `/web/${screen}` : `/${area}`
  const depth = url.pathname.split('/').length > 3 && area === 'web' ? '/…' : ''
  return `${route}${depth}?${fields}`
}

/** Returns the paths of all screens that links lead to from `starts`. */
export async function findScreens(page, brain, starts = ['/']) {
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
    if (count >= OF_A_KIND) continue
    counts.set(kind(url), count + 1)
    const answer = await page.goto(address).catch(() => null)
    if (!answer?.headers()['content-type']?.startsWith('text/html')) continue
    found.push(address.slice(brain.url.length))
    queue.push(...await page.$$eval('a[href]:not([download])', (links) => (
      links.map((link) => link.href))))
  }
  return found
}

/** Returns the paths of `SCREENS` without a name in them, which are written in the source. */
export function declaredPaths() {
  const source = readFileSync('brain-daemon/crates/web/src/lib.rs', 'utf8')
  const list = source.match(/pub const SCREENS[^=]*= &\[([^\]]*)\]/)[1]
  return [...list.matchAll(/"(\/[^"{]*)"/g)].map(([, path]) => path)
}
