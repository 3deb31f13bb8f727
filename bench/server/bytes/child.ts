import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { Agent, request } from "node:http"
import type { Usage } from "./server-child.ts"

/** A server in a process of its own. */
export class Child {
  readonly address: string
  private readonly process: ChildProcess
  private readonly agent = new Agent({ keepAlive: true })

  private constructor(process: ChildProcess, address: string) {
    this.process = process
    this.address = address
  }

  static async start(...args: string[]): Promise<Child> {
    const process = fork(new URL("./server-child.ts", import.meta.url), args, { stdio: "inherit" })
    const [address] = (await once(process, "message")) as [string]
    return new Child(process, address)
  }

  async usage(): Promise<Usage> {
    this.process.send("usage")
    const [usage] = (await once(this.process, "message")) as [Usage]
    return usage
  }

  /** The body's bytes are counted and, unless asked for, dropped. */
  call(
    method: string,
    path: string,
    options: { body?: Buffer; headers?: Record<string, string>; keep?: boolean } = {},
  ): Promise<{ bytes: number; body: Buffer }> {
    const { body, headers = {}, keep = false } = options
    return new Promise((resolve, reject) => {
      const outgoing = request(this.address + path, { method, headers, agent: this.agent }, (response) => {
        const chunks: Buffer[] = []
        let bytes = 0
        response.on("data", (chunk: Buffer) => {
          bytes += chunk.length
          if (keep || response.statusCode !== 200) chunks.push(chunk)
        })
        response.on("error", reject)
        response.on("end", () => {
          const received = Buffer.concat(chunks)
          if (response.statusCode === 200) resolve({ bytes, body: received })
          else reject(new Error(`${method} ${path}: ${response.statusCode} ${received.toString().slice(0, 300)}`))
        })
      })
      outgoing.on("error", reject)
      outgoing.end(body)
    })
  }

  async stop(): Promise<void> {
    this.agent.destroy()
    const exit = once(this.process, "exit")
    this.process.disconnect()
    await exit
  }
}
