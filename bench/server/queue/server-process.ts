import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const command = fileURLToPath(new URL("../../../packages/atropos/bin/atropos.js", import.meta.url))

/** A `run-api` in a process of its own, whose time and memory can be told from ours. */
export class ServerProcess {
  readonly address: string
  readonly #child: ChildProcess
  readonly #exited: Promise<void>

  private constructor(address: string, child: ChildProcess, exited: Promise<void>) {
    this.address = address
    this.#child = child
    this.#exited = exited
  }

  static async start(flags: readonly string[]): Promise<ServerProcess> {
    const child = spawn(
      process.execPath,
      [command, "run-api", "--port", "0", "--json", "--log-level", "error", ...flags],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    )
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
    for await (const line of createInterface({ input: child.stdout })) {
      const { address } = JSON.parse(line) as { address: string }
      return new ServerProcess(address, child, exited)
    }
    throw new Error("run-api ended before it said where it listens")
  }

  /** Resident bytes that are its own: pages of mapped files can be dropped at any time. */
  residentBytes(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, "utf8")
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM")
    await this.#exited
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL")
    await this.#exited
  }
}
