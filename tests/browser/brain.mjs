// A daemon in a home of its own, in a temporary directory.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** The directory of the built programs. */
export const programs = resolve(process.env.PROGRAMS ?? 'target/debug')
/** No wait is longer. It is generous because the machine may be busy. */
export const PATIENCE = 120_000

/** Returns the first truthy result of `look`, which is tried until `PATIENCE` is over. */
export async function until(what, look) {
  const end = Date.now() + PATIENCE
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > end) throw new Error(`not within ${PATIENCE} ms: ${what}`)
    await sleep(20)
  }
}

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => done(port))
    })
  })
}

export class Brain {
  /** Starts a daemon in a new home, of the programs in `directory`. */
  static async start(name, directory = programs) {
    const brain = new Brain()
    brain.programs = directory
    brain.dir = mkdtempSync(join(tmpdir(), `brain-${name}-`))
    brain.port = await freePort()
    brain.url = `http://127.0.0.1:${brain.port}`
    brain.environment = {
      PATH: process.env.PATH,
      TZ: 'UTC',
      BRAIN_HOME: join(brain.dir, 'home'),
      BRAIN_HTTP_LOCAL: `127.0.0.1:${brain.port}`,
      BRAIN_HTTP_PUBLIC: 'off',
      BRAIN_INGEST_RATE: 'off',
    }
    brain.log = ''
    await brain.begin()
    return brain
  }

  /** Starts the daemon; again after `end`, at the same address. */
  async begin() {
    this.daemon = spawn(join(this.programs, 'brain-daemon'), { env: this.environment })
    this.daemon.stderr.on('data', (text) => { this.log += text })
    this.daemon.stdout.resume()
    await until('the daemon answers', async () => {
      if (this.daemon.exitCode !== null) throw new Error(`the daemon ended:\n${this.log}`)
      return fetch(`${this.url}/health`).then((answer) => answer.ok, () => false)
    })
  }

  /** Ends the daemon, and waits for it. */
  async end() {
    const ended = new Promise((done) => this.daemon.once('exit', done))
    if (this.daemon.exitCode === null) {
      this.daemon.kill('SIGTERM')
      await ended
    }
  }

  /** Ends the daemon, and removes its home. */
  async remove() {
    await this.end()
    rmSync(this.dir, { recursive: true, force: true })
  }

  /** Runs `brain` with this standard input, and returns its standard output. */
  run(args, input = '') {
    return new Promise((done, failed) => {
      const options = { env: this.environment, maxBuffer: 64 << 20 }
      const child = execFile(join(this.programs, 'brain'), args, options, (error, out, errors) => {
        if (error) failed(new Error(`brain ${args.join(' ')}: ${out}${errors}`))
        else done(out)
      })
      child.stdin.on('error', () => {}) // It may end without reading its input.
      child.stdin.end(input)
    })
  }

  async json(...args) {
    return JSON.parse(await this.run(['--json', ...args]))
  }

  put(slug, text) {
    return this.run(['put', slug], text)
  }

  /** Returns an address that signs one browser in, to this page. */
  async address(...page) {
    return (await this.run(['open', '--print', '--quiet', ...page])).trim()
  }

  /** Returns the token of the admin API. */
  adminToken() {
    return readFileSync(join(this.environment.BRAIN_HOME, 'secrets/admin-token'), 'utf8').trim()
  }

  /** Returns the resident memory of the daemon, in bytes; `RssAnon` is the part without files. */
  memory(field = 'VmRSS') {
    const status = readFileSync(`/proc/${this.daemon.pid}/status`, 'utf8')
    return Number(status.match(new RegExp(`${field}:\\s+(\\d+)`))[1]) * 1024
  }
}
