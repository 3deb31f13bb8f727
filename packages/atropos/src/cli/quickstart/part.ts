import { type ChildProcess, spawn } from "node:child_process"
import { createWriteStream } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"

import { AtroposError } from "../../runtime/errors.ts"
import { workerFile } from "../../runtime/worker-file.ts"

export interface PartOptions {
  /** What it is called in messages and in the name of its log. */
  name: string
  /** The command line after `atropos`. */
  argv: readonly string[]
  /** The file that starts `atropos`. */
  bin: string
  workingDirectory: string
  logDirectory: string
  /** Told of every JSON object that the part prints. */
  onEvent?: (event: Readonly<Record<string, unknown>>) => void
}

/** How a part came to its end. */
export interface PartEnd {
  name: string
  pid: number
  code: number | null
  signal: string | null
  /** The last lines that it printed. */
  lines: readonly string[]
}

const keptLines = 20

/** One process of the loop: an `atropos` command on the same Node, which ends when this process does. */
export class Part {
  readonly name: string
  readonly ended: Promise<PartEnd>
  readonly #child: ChildProcess
  readonly #listening = Promise.withResolvers<string>()
  readonly #lines: string[] = []

  constructor(options: PartOptions) {
    const { name, argv, bin, onEvent } = options
    this.name = name
    const preload = workerFile(import.meta.url, "./stop-with-parent").href
    // A process group of its own: Ctrl-C in the terminal reaches the quick start, which ends the parts in order.
    this.#child = spawn(process.execPath, ["--import", preload, bin, ...argv], {
      cwd: options.workingDirectory,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      detached: process.platform !== "win32",
      windowsHide: true,
    })
    const log = createWriteStream(join(options.logDirectory, `${name}.log`))
    const read = (stream: NodeJS.ReadableStream | null, onLine: (line: string) => void): Promise<void> =>
      new Promise((resolve) => {
        if (stream === null) return resolve()
        const lines = createInterface({ input: stream })
        lines.on("line", (line) => {
          log.write(`${line}\n`)
          this.#lines.push(line)
          if (this.#lines.length > keptLines) this.#lines.shift()
          onLine(line)
        })
        lines.on("close", resolve)
      })
    const output = Promise.all([
      read(this.#child.stdout, (line) => this.#readEvent(line, onEvent)),
      read(this.#child.stderr, () => {}),
    ])
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: string | null): void => {
        log.end()
        resolve({ name, pid: this.pid, code, signal, lines: this.#lines })
      }
      this.#child.on("error", (error) => {
        this.#lines.push(error.message)
        end(null, null)
      })
      this.#child.on("exit", (code, signal) => void output.then(() => end(code, signal)))
    })
    this.#listening.promise.catch(() => {})
    void this.ended.then((end) => this.#listening.reject(partDied(end)))
  }

  /** 0 when it could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** The address that it reports once it listens. */
  async listening(timeoutMs: number, signal: AbortSignal): Promise<string> {
    const tooLate = sleep(timeoutMs, undefined, { signal }).then(() => {
      throw new AtroposError("part-failed", `${this.name} did not listen within ${timeoutMs / 1000} s`)
    })
    return Promise.race([this.#listening.promise, tooLate])
  }

  /** SIGTERM, and SIGKILL when that has not helped after `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill("SIGTERM")
    const abort = new AbortController()
    const late = sleep(graceMs, undefined, { signal: abort.signal }).then(
      () => this.#child.kill("SIGKILL"),
      () => {},
    )
    await this.ended
    abort.abort()
    await late
  }

  #readEvent(line: string, onEvent: PartOptions["onEvent"]): void {
    if (!line.startsWith("{")) return
    let event: unknown
    try {
      event = JSON.parse(line)
    } catch {
      // A line of text that begins with a brace: the log has it.
      return
    }
    if (!isRecord(event)) return
    if (event["event"] === "listening" && typeof event["address"] === "string") {
      this.#listening.resolve(event["address"])
    }
    onEvent?.(event)
  }
}

/** The error that ends the run when a part has ended by itself. */
export function partDied({ name, pid, code, signal, lines }: PartEnd): AtroposError {
  const how = signal === null ? `with exit code ${code ?? "unknown"}` : `by ${signal}`
  const last =
    lines.length === 0 ? "it printed nothing" : `its last lines:\n${lines.map((line) => `  ${clip(line)}`).join("\n")}`
  return new AtroposError("part-failed", `${name} (process ${pid}) ended ${how}; ${last}`, {
    facts: { name, pid, code, signal },
  })
}

/** Lines of metrics are thousands of characters long; the whole of them is in the log. */
function clip(line: string): string {
  return line.length <= 300 ? line : `${line.slice(0, 300)} …`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
