// Acts as the owner's browser: opens the consent page, agrees with the admin token, and returns
// the last redirect.
import assert from 'node:assert/strict'

const unescapeHtml = (text) => text
  .replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#x27;', "'")
  .replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&gt;', '>')
/** Returns the value of an attribute in the text of a tag. */
const attribute = (tag, name) => {
  const found = tag.match(new RegExp(`\\b${name}="([^"]*)"`))
  return found ? unescapeHtml(found[1]) : undefined
}

/** Agrees to the request at `url`. Returns the URL of the redirect, with the code. */
export async function consent(url, adminToken) {
  const page = await fetch(url, { redirect: 'manual' })
  const html = await page.text()
  assert.equal(page.status, 200, html)
  const form = new URLSearchParams()
  for (const [tag] of html.matchAll(/<input[^>]*>/g)) {
    const [name, type, value] = ['name', 'type', 'value'].map((each) => attribute(tag, each))
    if (!name) continue
    if (type === 'password') form.append(name, adminToken)
    const isSent = type === 'hidden' || (type === 'checkbox' && / checked/.test(tag))
    if (isSent) form.append(name, value ?? '')
  }
  const buttons = [...html.matchAll(/<button[^>]*>/g)].map(([tag]) => tag)
  const button = buttons.find((tag) => /allow|approve/.test(tag))
  assert.ok(button, `no button to agree with: ${html}`)
  const buttonName = attribute(button, 'name')
  if (buttonName) form.append(buttonName, attribute(button, 'value') ?? '')
  const action = attribute(html.match(/<form[^>]*>/)[0], 'action')
  const cookie = page.headers.getSetCookie().map((each) => each.split(';')[0]).join('; ')
  const headers = {
    'content-type': 'application/x-www-form-urlencoded', origin: new URL(url).origin,
  }
  if (cookie) headers.cookie = cookie
  const target = action ? new URL(action, url) : new URL(url)
  const answer = await fetch(target, { method: 'POST', redirect: 'manual', headers, body: form })
  assert.equal(answer.status, 303, await answer.text())
  return new URL(answer.headers.get('location'))
}
