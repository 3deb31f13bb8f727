// A worker of the math pool: answers one check after the other until it is ended.
import { parentPort, workerData } from "node:worker_threads"

import { mathEquals, type MathEngine } from "../verify.ts"
import type { WorkerReply, WorkerRequest } from "./messages.ts"

const { engineUrl } = workerData as { engineUrl: string | undefined }
const engine = engineUrl === undefined ? undefined : ((await import(engineUrl)) as { engine: MathEngine }).engine

const reply = (message: WorkerReply): void => parentPort?.postMessage(message)

parentPort?.on("message", ({ id, check }: WorkerRequest) => {
  try {
    const { gold, answer, ...options } = check
    reply({ id, equal: mathEquals(gold, answer, { ...options, ...(engine === undefined ? {} : { engine }) }) })
  } catch (error) {
    reply({ id, error: error instanceof Error ? error.message : String(error) })
  }
})
reply({ ready: true })
