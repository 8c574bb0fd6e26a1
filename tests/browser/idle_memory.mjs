// Prints the resident memory of an idle daemon whose web interface was never opened, for the
// programs in PROGRAMS and, if it is set, in OTHER, for example of another commit.
import { setTimeout as sleep } from 'node:timers/promises'
import { Brain, programs } from './brain.mjs'
import { generatedPages } from './content.mjs'

const STARTS = 7
const PAGES = Number(process.env.PAGES ?? 1000)
const IDLE_MS = 10_000
const directories = [process.env.OTHER, programs].filter(Boolean)
const memoryByDirectory = new Map(directories.map((dir) => [dir, []]))

for (const [dir, sizes] of memoryByDirectory) {
  const brain = await Brain.start('idle', dir)
  await brain.run(['import', generatedPages(brain.dir, PAGES)])
  for (let n = 0; n < STARTS; n++) {
    await brain.end()
    await brain.begin()
    await sleep(IDLE_MS)
    sizes.push(brain.memory() / 1e6)
  }
  await brain.remove()
  sizes.sort((a, b) => a - b)
  const [least, median, most] = [sizes[0], sizes[STARTS >> 1], sizes.at(-1)]
  console.log(`${dir}: ${PAGES} pages, idle: median ${median.toFixed(1)} MB `
    + `(${least.toFixed(1)} to ${most.toFixed(1)})`)
}
