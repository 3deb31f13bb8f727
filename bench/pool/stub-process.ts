import { spawn, type ChildProcess } from "node:child_process"
import { fileURLToPath } from "node:url"

/** A model stub in a process of its own, so that its work does not count as the caller's. */
export interface StubProcess {
  baseUrl: string
  stop(): void
}

export async function startStubProcess(dialect = "vllm"): Promise<StubProcess> {
  const command = fileURLToPath(new URL("../../packages/atropos/bin/atropos.js", import.meta.url))
  const child: ChildProcess = spawn(process.execPath, [command, "stub", "--port", "0", "--dialect", dialect], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  const baseUrl = await new Promise<string>((resolve, reject) => {
    let text = ""
    child.stdout?.on("data", (piece: Buffer) => {
      text += piece.toString()
      const found = /base_url (\S+)/.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once("exit", (code) => reject(new Error(`the stub ended with ${code}`)))
  })
  return { baseUrl, stop: () => void child.kill() }
}
