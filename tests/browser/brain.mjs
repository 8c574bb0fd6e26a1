// Runs a daemon with its own home in a temporary directory.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** The directory of the built programs. */
export const programs = resolve(process.env.PROGRAMS ?? 'target/debug')
/** Maximum time of a wait in milliseconds. It is generous, because the machine may be busy. */
export const PATIENCE = 120_000

/** Calls `check` until its result is truthy, and returns that. Fails after `PATIENCE`. */
export async function until(description, check) {
  const end = Date.now() + PATIENCE
  for (;;) {
    const result = await check()
    if (result) return result
    if (Date.now() > end) throw new Error(`not within ${PATIENCE} ms: ${description}`)
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
  /** Starts a daemon in a new home. `directory` has the programs. */
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

  /** Starts the daemon and waits until it answers. Its address stays the same after `end`. */
  async begin() {
    this.daemon = spawn(join(this.programs, 'brain-daemon'), { env: this.environment })
    this.daemon.stderr.on('data', (text) => { this.log += text })
    this.daemon.stdout.resume()
    await until('the daemon answers', async () => {
      if (this.daemon.exitCode !== null) throw new Error(`the daemon ended:\n${this.log}`)
      return fetch(`${this.url}/health`).then((answer) => answer.ok, () => false)
    })
  }

  /** Ends the daemon and waits for its exit. */
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
      child.stdin.on('error', () => {}) // The program may exit without reading its input.
      child.stdin.end(input)
    })
  }

  /** Runs `brain --json` and returns the parsed output. */
  async json(...args) {
    return JSON.parse(await this.run(['--json', ...args]))
  }

  /** Writes a page. */
  put(slug, text) {
    return this.run(['put', slug], text)
  }

  /** Returns a one-time address that signs a browser in and then shows `page`. */
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
