// Attacks in a real browser: scripts in all texts, framing, requests of other origins, host names
// that resolve to this machine, and addresses of `brain open` that are used or expired.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Brain } from './brain.mjs'
import { complaints, launch, open, showSearch, shows, signIn, signedIn } from './browsers.mjs'
import { visitScreens } from './screens.mjs'

/** How long an address of `brain open` is valid. */
const CODE_SECONDS = 60
const RUN = 'window.pwned=1;alert(1)'
const SCRIPT = `<script>${RUN}</script>`
const IMAGE = `<img src=x onerror="${RUN}">`
const QUOTED = `"><svg onload="${RUN}">`

let browser, brain, page, stranger, oldAddress, oldAddressCreatedAt

/** Returns the HTML that the stranger's server has at `/`. `visitStranger` replaces it. */
let evil = () => ''

before(async () => {
  brain = await Brain.start('attacks')
  oldAddress = await brain.address()
  oldAddressCreatedAt = Date.now()
  await hostilePages()
  browser = await launch({ local: 'evil.test' })
  page = await signedIn(browser, brain)
  stranger = createServer((request, response) => {
    response.setHeader('Content-Type', 'text/html')
    response.end(`<!doctype html><title>evil</title>${request.url === '/' ? evil() : ''}`)
  })
  await new Promise((done) => stranger.listen(0, '127.0.0.1', done))
})

after(async () => {
  await browser?.close()
  stranger?.closeAllConnections()
  stranger?.close()
  await brain?.remove()
})

/** Creates pages, tokens, clients and ingested items with scripts in all their texts. */
async function hostilePages() {
  const quote = (text) => JSON.stringify(text)
  const body = `${SCRIPT}\n\n${IMAGE}\n\n[a](javascript:${RUN}) [b](data:text/html,${SCRIPT}) `
    + `[c](vbscript:x) <a href="javascript:${RUN}">d</a> [e](<java\tscript:${RUN}>) `
    + `![f](javascript:${RUN}) [g](https://ok.example/?${QUOTED}) [[${QUOTED}|${IMAGE}]]\n\n`
    + `<iframe srcdoc="${SCRIPT}"></iframe>\n\n<form action="https://evil.example"><button>x\n\n`
    + `<style>body{display:none}</style>\n\n<base href="https://evil.example/">\n\n`
    + `\`\`\`${QUOTED}\n</code></pre>${SCRIPT}\n\`\`\`\n\n| ${IMAGE} |\n|-|\n| ${SCRIPT} |\n\n`
    + `# ${IMAGE}\n\n- 2025-01-02 | ${SCRIPT} [Source: ${IMAGE}]\n\n[^1]\n\n[^1]: ${IMAGE}\n\n`
    + `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;${QUOTED}">\n`
  const frontmatter = `---\ntitle: ${quote(`</title>${SCRIPT}${IMAGE}`)}\ntype: ${quote(SCRIPT)}\n`
    + `tags: [${quote(IMAGE)}, ${quote(QUOTED)}]\naliases: [${quote(IMAGE)}]\n`
    + `source_uri: ${quote(`javascript:${RUN}`)}\ncompany: ${quote(`[[${QUOTED}]]`)}\n---\n`
  await brain.put('evil', `${frontmatter}${body}`)
  await brain.put('evil', `${frontmatter}${body}\n${IMAGE}\n`)
  await brain.put('links', `---\ntitle: ${quote(IMAGE)}\n---\nSee [[evil]].\n`)
  await brain.put('dead', `---\ntitle: ${quote(IMAGE)}\n---\nwords\n`)
  await brain.run(['delete', 'dead'])
  const files = join(brain.dir, 'files')
  mkdirSync(files)
  writeFileSync(join(files, `${IMAGE.replaceAll('/', '')}.md`), body)
  writeFileSync(join(files, `"onmouseover="${RUN}.md`), body)
  await brain.run(['import', files])
  await brain.json('sources', 'add', 'work', '--path', files).catch(() => {})
  const name = `${SCRIPT}${IMAGE}`
  const { token } = await brain.json('token', 'create', name, '--scope', 'read write')
  await brain.json('clients', 'register', `${QUOTED}`, '--scope', 'read')
  for (const [type, text] of [
    ['text/html', `<title>${SCRIPT}</title><h1>${IMAGE}</h1><a href="javascript:${RUN}">x</a>`],
    ['application/json', JSON.stringify({ text: body, title: IMAGE, tags: [IMAGE] })],
    ['text/plain', body],
  ]) {
    await fetch(`${brain.url}/ingest?source_uri=${encodeURIComponent(`javascript:${RUN}`)}`, {
      method: 'POST',
      headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': type },
      body: text,
    })
  }
}

/** Returns 1 if an injected script ran, and `undefined` otherwise. */
const injectedScriptRan = (tab) => tab.evaluate(() => window.pwned)

test('no stored script runs on any screen', async () => {
  await complaints(page, brain)
  const starts = ['/', '/page/evil', '/?q=script&explain=1', '/?q=window',
    `/?${new URLSearchParams({ q: SCRIPT, type: IMAGE, tag: QUOTED })}`,
    `/web/new?slug=${encodeURIComponent(QUOTED)}`, '/web/timeline', '/web/audit', '/web/queue']
  const found = await visitScreens(page, brain, starts, async (path, answer) => {
    const problems = await complaints(page, brain)
    assert.deepEqual(problems.filter((it) => !it.startsWith('console: Failed')), [], path)
    assert.ok(answer.status() < 500, `${path}: ${answer.status()}`)
    assert.equal(await injectedScriptRan(page), undefined, path)
    const links = await page.$$eval('[href], [src], [action]', (all) => all.map((it) => (
      it.getAttribute('href') ?? it.getAttribute('src') ?? it.getAttribute('action'))))
    const good =
      /^(\/(?!\/)|#|obsidian:\/\/open\?path=%2F|https?:\/\/(ok\.example|127\.0\.0\.1)[/:])/
    const bad = links.filter((it) => !good.test(it))
    assert.deepEqual(bad, [], path)
    const elements = await page.$$eval('main :is(iframe, style, base, [onload], [onerror])',
      (all) => all.map((it) => it.outerHTML))
    assert.deepEqual(elements, [], path)
  })
  assert.ok(found.length > 20, found.join('\n'))
})

test('no script runs where scripts write HTML: results, preview, completions', async () => {
  await showSearch(page, brain)
  await page.keyboard.type('window')
  await page.waitForFunction(() => document.title.startsWith('window '), { polling: 50 })
  await page.waitForSelector('#results a.title')
  assert.equal(await injectedScriptRan(page), undefined)
  await page.goto(`${brain.url}/web/new`)
  await page.type('#text', `# ${IMAGE}\n\n${SCRIPT} [a](javascript:${RUN})\n\n`)
  await shows(page, '#preview', 'pwned')
  await page.type('#text', '[[evi')
  await page.waitForSelector('#pages:not([hidden]) li')
  assert.equal(await injectedScriptRan(page), undefined)
  assert.deepEqual(await complaints(page, brain), [])
})

test('no script runs in captured texts and names of dropped files', async () => {
  await page.goto(`${brain.url}/web/timeline`)
  await page.keyboard.press('c')
  await page.waitForSelector('#capture[open]')
  const fill = (field, text) => { field.value = text }
  await page.$eval('#capture-text', fill, `${SCRIPT}\n\n${IMAGE}`)
  await page.$eval('#capture-tags', fill, QUOTED)
  await Promise.all([page.waitForNavigation(), page.click('#capture form button')])
  assert.match(await page.$eval('main', (it) => it.innerText), /window\.pwned/)
  assert.equal(await injectedScriptRan(page), undefined)
  // Of several files, the screen names those that are no text. A single one is looked at for an
  // import, on a screen of its own.
  const drop = (names) => page.evaluate((all) => {
    const dataTransfer = new DataTransfer()
    for (const name of all) dataTransfer.items.add(new File(['\u0001'], name))
    document.body.dispatchEvent(new DragEvent('drop', { bubbles: true, dataTransfer }))
  }, names)
  const name = `${IMAGE}.exe`
  await drop([name, 'note.exe'])
  await shows(page, '#message', 'onerror')
  assert.equal(await injectedScriptRan(page), undefined)
  await Promise.all([page.waitForNavigation(), drop([name])])
  assert.match(await page.$eval('main', (it) => it.innerText), /onerror.* is in no format/)
  assert.equal(await injectedScriptRan(page), undefined)
  page.problems.length = 0
})

/** Opens the stranger's page with this HTML in the owner's browser, at the host name `host`. */
async function visitStranger(host, html) {
  evil = () => html
  const tab = await open(page.browserContext())
  await tab.goto(`http://${host}:${stranger.address().port}/`)
  return tab
}

/** Returns the paths of `POST_PATHS` in the source, with `links` in place of names. */
const changePaths = () => {
  const source = readFileSync('brain-daemon/crates/web/src/lib.rs', 'utf8')
  const list = source.match(/pub const POST_PATHS[^=]*= &\[([^\]]*)\]/)[1]
  return [...list.matchAll(/"(\/[^"]*)"/g)].map(([, path]) => path.replace(/\{[^}]*\}/, 'links'))
}

for (const host of ['127.0.0.1', 'localhost', 'evil.test']) {
  test(`forms and scripts of ${host}, another origin, change and read nothing`, async () => {
    const before = await brain.json('list', '--limit', '100')
    assert.ok(changePaths().length > 10, changePaths().join())
    const answers = []
    for (const path of changePaths()) {
      const tab = await visitStranger(host, `<form method=post action="${brain.url}${path}">`
        + '<input name=csrf value=x><input name=text value=evil>'
        + '<input name=version value=1></form>')
      const [answer] = await Promise.all([
        tab.waitForNavigation(), tab.evaluate(() => document.querySelector('form').submit()),
      ])
      answers.push(`${answer.status()} ${path}`)
      await tab.close()
    }
    assert.deepEqual(answers.filter((it) => !/^40[13] /.test(it)), [])
    const tab = await visitStranger(host, '')
    const outcomes = await tab.evaluate(async (url) => {
      const outcome = async (path, options) => {
        try {
          const answer = await fetch(url + path, { credentials: 'include', ...options })
          return `${answer.type} ${(await answer.text()).length}`
        } catch (error) { return error.name }
      }
      const form = { method: 'POST', body: new URLSearchParams({ csrf: 'x', text: 'evil' }) }
      return [
        await outcome('/page/evil'), await outcome('/web/results?q=window'),
        await outcome('/web/complete?text=e'), await outcome('/web/capture', form),
        await outcome('/page/evil', { mode: 'no-cors' }),
        await outcome('/web/capture', { ...form, mode: 'no-cors' }),
      ]
    }, brain.url)
    // An opaque answer has no text that a script can read.
    for (const outcome of outcomes) {
      assert.ok(['TypeError', 'opaque 0'].includes(outcome), outcomes.join())
    }
    await tab.close()
    assert.deepEqual(await brain.json('list', '--limit', '100'), before)
  })
}

test('no page of another origin shows brain in a frame', async () => {
  for (const element of ['iframe', 'object', 'embed']) {
    const source = element === 'object' ? 'data' : 'src'
    const html = `<${element} ${source}="${brain.url}/"></${element}>`
    const tab = await visitStranger('127.0.0.1', html)
    for (const frame of tab.frames().filter((it) => it !== tab.mainFrame())) {
      const shown = await frame.evaluate(() => document.body?.innerText ?? '').catch(() => '')
      assert.doesNotMatch(shown, /Changed last|Your brain/, element)
    }
    await tab.close()
  }
})

test('an opened window is out of reach of its opener', async () => {
  const tab = await visitStranger('127.0.0.1', '')
  await tab.evaluate((url) => { window.opened = window.open(`${url}/page/evil`) }, brain.url)
  await tab.waitForFunction(() => window.opened.closed, { polling: 50 })
  for (const other of await page.browserContext().pages()) {
    if (other !== page && other !== tab) await other.close()
  }
  await tab.close()
})

test('a host name that resolves to this machine is refused', async () => {
  const tab = await open(page.browserContext())
  for (const path of ['/', '/page/evil', '/web/results?q=window', '/web/assets/now/page.js']) {
    const answer = await tab.goto(`http://evil.test:${brain.port}${path}`)
    assert.equal(answer.status(), 403, path)
    assert.doesNotMatch(await tab.content(), /Changed last|window/)
  }
  await tab.close()
})

test('an address of `brain open` works once, for one browser', async () => {
  const address = await brain.address('links')
  await signIn(page, { address: () => address })
  const context = await browser.createBrowserContext()
  const thief = await open(context)
  const answer = await thief.goto(address)
  assert.equal(answer.status(), 401)
  assert.match(await thief.$eval('main', (it) => it.innerText), /used up/)
  assert.deepEqual(await context.cookies(), [])
  const home = await thief.goto(brain.url)
  assert.doesNotMatch(await home.text(), /Changed last/)
  await context.close()
})

test('the cookie is out of reach of scripts', async () => {
  await page.goto(brain.url)
  assert.equal(await page.evaluate(() => document.cookie), '')
  const [cookie] = await page.browserContext().cookies()
  assert.equal(cookie.httpOnly, true)
  assert.equal(cookie.sameSite?.toLowerCase(), 'strict')
})

test('an address of `brain open` is refused after a minute', async () => {
  await sleep(Math.max(0, oldAddressCreatedAt + (CODE_SECONDS + 1) * 1000 - Date.now()))
  const context = await browser.createBrowserContext()
  const tab = await open(context)
  const answer = await tab.goto(oldAddress)
  assert.equal(answer.status(), 401)
  assert.deepEqual(await context.cookies(), [])
  await context.close()
})
