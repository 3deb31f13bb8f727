// For the tests: the command as a process of its own, and its events as they come.
import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

import { commandFile } from "./command-file.ts"
import type { QuickstartEvent } from "./events.ts"

type EventOf<Name extends QuickstartEvent["event"]> = Extract<QuickstartEvent, { event: Name }>

export interface StartedQuickstart {
  pid: number
  events: QuickstartEvent[]
  runDirectory: string
  /** The first event of that name that passes, now or later; rejects when the command ends without it. */
  next<Name extends QuickstartEvent["event"]>(
    name: Name,
    passes?: (event: EventOf<Name>) => boolean,
  ): Promise<EventOf<Name>>
  kill(signal: NodeJS.Signals): void
  ended: Promise<{ code: number | null; stderr: string }>
  [Symbol.asyncDispose](): Promise<void>
}

export async function startQuickstart(...argv: string[]): Promise<StartedQuickstart> {
  const runDirectory = await mkdtemp(join(tmpdir(), "quickstart-"))
  const child = spawn(process.execPath, [commandFile(), "quickstart", "--json", "--run-dir", runDirectory, ...argv], {
    stdio: ["ignore", "pipe", "pipe"],
  })
  const events: QuickstartEvent[] = []
  const listeners = new Set<() => void>()
  createInterface({ input: child.stdout }).on("line", (line) => {
    events.push(JSON.parse(line) as QuickstartEvent)
    for (const listener of Array.from(listeners)) listener()
  })
  let stderr = ""
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = new Promise<{ code: number | null; stderr: string }>((resolve) =>
    child.on("close", (code) => resolve({ code, stderr })),
  )
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal)
  return {
    pid: child.pid ?? 0,
    events,
    runDirectory,
    next: (name, passes = () => true) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          for (const event of events) {
            // The name tells the type.
            if (event.event === name && passes(event as EventOf<typeof name>)) {
              listeners.delete(look)
              return resolve(event as EventOf<typeof name>)
            }
          }
        }
        listeners.add(look)
        look()
        void ended.then((end) => reject(new Error(`no such ${name} event; ended with ${end.code}: ${end.stderr}`)))
      }),
    kill,
    ended,
    async [Symbol.asyncDispose]() {
      kill("SIGKILL")
      await ended
      await rm(runDirectory, { recursive: true, force: true })
    },
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
