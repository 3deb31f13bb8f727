/**
 * The writer of a run, on its own thread: everything that waits while a transaction is written goes into the next
 * one, so that many commits share one fsync. Holds the run's lock and the only connection that writes.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads"
import { lockForProcess } from "../../../runtime/process-lock.ts"
import { isChange, type Job, packError, type WriterOptions, type WriterReply, type WriterRequest } from "./messages.ts"
import { openRun } from "./open-run.ts"
import { RunDatabase } from "./run-database.ts"
import { runFileName } from "./schema.ts"
import { describeSqliteError, lockedRun } from "./sqlite-errors.ts"

/** A transaction ends at about this many bytes of payload, so that the first in it does not wait for ever. */
const transactionBytes = 32 * 1024 * 1024

type CommitJob = Extract<Job, { type: "commit" }>

class Writer {
  readonly #port: MessagePort
  readonly #file: string
  readonly #run: RunDatabase
  readonly #close: () => void
  #failures = 0

  constructor(port: MessagePort, file: string, run: RunDatabase, close: () => void) {
    this.#port = port
    this.#file = file
    this.#run = run
    this.#close = close
  }

  /** Takes what waits at the port, works through it and answers. */
  drain(first: WriterRequest): void {
    let next: WriterRequest | undefined = first
    while (next !== undefined) {
      const { failuresSeen, job }: WriterRequest = next
      next = undefined
      const staysOut = failuresSeen < this.#failures && isChange(job)
      if (staysOut) next = this.#receive()
      else if (job.type === "commit") next = this.#commitGroup(job)
      else {
        this.#do(job)
        if (job.type === "close") {
          this.#port.close()
          return
        }
        next = this.#receive()
      }
    }
  }

  /** Commits the job and those right behind it; gives back the first job that is no such commit. */
  #commitGroup(first: CommitJob): WriterRequest | undefined {
    const jobs = [first]
    let bytes = payloadBytes(first)
    let next: WriterRequest | undefined
    while (bytes < transactionBytes) {
      next = this.#receive()
      if (next === undefined || next.job.type !== "commit") break
      jobs.push(next.job)
      bytes += payloadBytes(next.job)
      next = undefined
    }
    try {
      this.#run.commit(jobs)
      this.#acknowledge(jobs)
    } catch (error) {
      if (jobs.length === 1) this.#fail(first, error)
      else this.#commitOneByOne(jobs)
    }
    return next
  }

  /** Something in a shared transaction failed: what precedes the culprit is kept. */
  #commitOneByOne(jobs: readonly CommitJob[]): void {
    for (const job of jobs) {
      try {
        this.#run.commit([job])
        this.#acknowledge([job])
      } catch (error) {
        this.#fail(job, error)
        return
      }
    }
  }

  #do(job: Exclude<Job, CommitJob>): void {
    try {
      switch (job.type) {
        case "recover":
          this.#reply({ type: "recovered", recovered: this.#run.recover() })
          return
        case "compact":
          this.#run.compact(job.snapshot)
          break
        case "close":
          this.#close()
          break
      }
      this.#reply({ type: "done", jobs: 1, totals: { ...this.#run.totals } })
    } catch (error) {
      this.#fail(job, error)
    }
  }

  #acknowledge(jobs: readonly CommitJob[]): void {
    for (const { payloads } of jobs) {
      // What came for good is free at once instead of at some collection.
      for (const { segment } of payloads) if (segment.buffer instanceof ArrayBuffer) segment.buffer.transfer(0)
    }
    this.#reply({ type: "done", jobs: jobs.length, totals: { ...this.#run.totals } })
  }

  #fail(job: Job, error: unknown): void {
    if (isChange(job)) this.#failures += 1
    this.#reply({ type: "failed", error: packError(describeSqliteError(error, this.#file)) })
  }

  #receive(): WriterRequest | undefined {
    return (receiveMessageOnPort(this.#port) as { message: WriterRequest } | undefined)?.message
  }

  #reply(reply: WriterReply): void {
    this.#port.postMessage(reply)
  }
}

function payloadBytes(commit: CommitJob): number {
  let bytes = 0
  for (const payload of commit.payloads) bytes += payload.bytes
  return bytes
}

function start(port: MessagePort, { directory, retainBytes, maxFileBytes }: WriterOptions): void {
  const file = join(directory, runFileName)
  const closers: (() => void)[] = []
  const close = (): void => closers.reverse().forEach((closeOne) => closeOne())
  const reply = (message: WriterReply): void => port.postMessage(message)
  try {
    mkdirSync(directory, { recursive: true })
    // On a side file, so that any SQLite tool can read the run itself.
    const lock = lockForProcess(join(directory, "run.lock"))
    if (lock === null) throw lockedRun(directory)
    closers.push(() => lock.release())
    const database = openRun(directory, maxFileBytes)
    closers.push(() => database.close())
    const run = new RunDatabase(file, database, retainBytes)
    const writer = new Writer(port, file, run, close)
    port.on("message", (request: WriterRequest) => writer.drain(request))
    reply({ type: "opened", totals: { ...run.totals } })
  } catch (error) {
    close()
    reply({ type: "refused", error: packError(describeSqliteError(error, file)) })
    port.close()
  }
}

if (parentPort !== null) start(parentPort, workerData as WriterOptions)
