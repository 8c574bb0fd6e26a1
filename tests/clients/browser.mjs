// The owner's browser for programs that print an address and wait for a callback:
// `node browser.mjs URL`.
import assert from 'node:assert/strict'
import { consent } from './consent.mjs'

const back = await fetch(await consent(process.argv[2], process.env.ADMIN_TOKEN))
assert.equal(back.status, 200, await back.text())
