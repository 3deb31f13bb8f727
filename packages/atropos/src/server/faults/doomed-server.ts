import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import type { Readable } from "node:stream"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("./kill-server.ts", import.meta.url))

/** A server process that is killed and started again, always on the same port and the same run. */
export class DoomedServer {
  readonly url: string
  /** Milliseconds from each start to the first answer. */
  readonly startTimesMs: number[] = []
  /** What the processes wrote to stderr. */
  complaints = ""
  readonly #directory: string
  readonly #port: number
  #child: ChildProcess | null = null

  private constructor(directory: string, port: number) {
    this.#directory = directory
    this.#port = port
    this.url = `http://127.0.0.1:${port}`
  }

  static async create(directory: string): Promise<DoomedServer> {
    const probe = createServer().listen(0, "127.0.0.1")
    await once(probe, "listening")
    const { port } = probe.address() as AddressInfo
    probe.close()
    return new DoomedServer(directory, port)
  }

  async start(): Promise<void> {
    const started = performance.now()
    const child = this.#spawn()
    const ended = once(child, "exit").then(() => {
      throw new Error(`the server ended by itself: ${this.complaints}`)
    })
    // It will end: by a kill.
    ended.catch(() => {})
    await Promise.race([once(child.stdout, "data"), ended])
    this.startTimesMs.push(performance.now() - started)
  }

  #spawn(): ChildProcess & { stdout: Readable } {
    const child = spawn(process.execPath, [program, this.#directory, String(this.#port)], {
      stdio: ["ignore", "pipe", "pipe"],
    })
    this.#child = child
    child.stderr.on("data", (data: Buffer) => (this.complaints += data.toString()))
    return child
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, "exit")
    child.kill("SIGKILL")
    await exited
    this.#child = null
  }

  /** Kills it at a random moment within so many milliseconds, now and then once more while it starts. */
  async killWithin(milliseconds: number): Promise<void> {
    await delay(Math.random() * milliseconds)
    await this.kill()
    if (Math.random() < 0.25) {
      this.#spawn()
      await delay(Math.random() * milliseconds)
      await this.kill()
    }
    await this.start()
  }
}
