// Acts as the owner's browser for programs that print the address of the consent page and wait for
// a callback: `node browser.mjs URL`.
import assert from 'node:assert/strict'
import { consent } from './consent.mjs'

const response = await fetch(await consent(process.argv[2], process.env.ADMIN_TOKEN))
assert.equal(response.status, 200, await response.text())
