import { gzipSync } from "node:zlib"
import { afterEach, describe, expect, test } from "vitest"
import { isAtroposError } from "../../../runtime/errors.ts"
import { MemoryPool } from "../../memory-pool.ts"
import { createIngest } from "../ingest.ts"
import type { Job } from "./messages.ts"
import { WorkerPool } from "./worker-pool.ts"

const limits = { inflatedBytes: 1 << 26, nesting: 400, sequencesPerGroup: 65_536 }
const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((part) => part.close()))
})
function opened<Part extends { close(): Promise<void> }>(part: Part): Part {
  open.push(part)
  return part
}

function groupOf(length: number): string {
  const row = Array.from({ length }, (_, index) => index).join(",")
  return `{"tokens":[[${row}]],"masks":[[${row}]],"scores":[1.0]}`
}

describe("bodies that go to a thread", () => {
  test("give the same groups and refusals as those checked at once", async () => {
    const ingest = opened(createIngest(limits, { workers: 2 }))
    const large = groupOf(20_000)
    for (const gzip of [false, true]) {
      const body = gzip ? gzipSync(large) : Buffer.from(large)
      const result = await ingest.ingest({ kind: "one", body, gzip, json: true })
      expect(result).toMatchObject({ ok: true, groups: [{ size: 1, tokens: 20_000, envId: null }] })
    }
    const bad = large.replace('"scores":[1.0]', '"scores":[1.0,2.0]')
    const result = await ingest.ingest({ kind: "one", body: Buffer.from(bad), gzip: false, json: true })
    expect(result).toMatchObject({ ok: false, refusal: { status: 422, reason: "length_mismatch" } })
  })

  test("keep the order of the groups of a list, each with a segment of its own", async () => {
    const ingest = opened(createIngest(limits))
    const body = Buffer.from(`[${[10, 9000, 20].map(groupOf).join(", ")}]`)
    const result = await ingest.ingest({ kind: "list", body, gzip: false, json: true })
    if (!result.ok) throw new Error(result.refusal.body)
    expect(result.groups.map(({ tokens }) => tokens)).toEqual([10, 9000, 20])
  })

  test("give their memory back, or stay with the caller who does not lend it", async () => {
    const ingest = opened(createIngest(limits))
    const returned: ArrayBufferLike[] = []
    const lent = new Uint8Array(new SharedArrayBuffer(1 << 18))
    const text = Buffer.from(groupOf(20_000))
    lent.set(text)
    const recycle = (buffer: ArrayBufferLike): void => void returned.push(buffer)
    await ingest.ingest({ kind: "one", body: lent.subarray(0, text.length), gzip: false, json: true, recycle })
    expect(returned).toEqual([lent.buffer])
    await ingest.ingest({ kind: "one", body: text, gzip: false, json: true })
    expect(text.length).toBeGreaterThan(100_000)
  })

  test("leave their segment in memory that is used again once it was freed, and not before", async () => {
    const memory = new MemoryPool()
    const ingest = opened(createIngest(limits, { workers: 1, memory }))
    const push = async (text: string) => {
      const result = await ingest.ingest({ kind: "one", body: Buffer.from(text), gzip: false, json: true })
      if (!result.ok) throw new Error(result.refusal.body)
      return result.groups[0]!
    }
    const first = await push(groupOf(20_000))
    const before = Buffer.from(first.segment)
    const second = await push(groupOf(20_001))
    expect(before.equals(first.segment)).toBe(true)
    for (const { segment, free } of [first, second]) {
      const { byteLength } = segment.buffer
      expect(free).toBeDefined()
      free?.()
      new Uint8Array(memory.take(byteLength)).fill(0)
      expect(segment.every((byte) => byte === 0)).toBe(true)
    }
  })

  test("do not hold much more memory than their segment needs", async () => {
    const ingest = opened(createIngest(limits, { workers: 1 }))
    const spaced = groupOf(20_000).replaceAll(",", `,${" ".repeat(100)}`)
    const result = await ingest.ingest({ kind: "one", body: Buffer.from(spaced), gzip: false, json: true })
    if (!result.ok) throw new Error(result.refusal.body)
    const { segment } = result.groups[0]!
    expect(segment.buffer.byteLength).toBeLessThan(2 * segment.length)
    const plain = await ingest.ingest({ kind: "one", body: Buffer.from(groupOf(20_000)), gzip: false, json: true })
    expect(plain.ok ? Buffer.from(plain.groups[0]!.segment).equals(segment) : plain).toBe(true)
  })

  test("are told apart from small ones by what they inflate to, not by what they claim", async () => {
    const ingest = opened(createIngest(limits))
    const liar = gzipSync(groupOf(100_000), { level: 9 })
    liar.writeUInt32LE(10, liar.length - 4)
    expect(await ingest.ingest({ kind: "one", body: liar, gzip: true, json: true })).toMatchObject({
      ok: false,
      refusal: { status: 400, body: "Invalid gzip payload" },
    })
    // A second, empty member has the last word on the claimed size.
    const large = Buffer.concat([gzipSync(groupOf(100_000)), gzipSync("")])
    expect(await ingest.ingest({ kind: "one", body: large, gzip: true, json: true })).toMatchObject({ ok: true })
  })
})

test("a bomb stops at the limit on inflated bytes", async () => {
  const ingest = opened(createIngest({ ...limits, inflatedBytes: 1 << 20 }))
  const bomb = gzipSync(Buffer.alloc(1 << 26))
  const before = process.memoryUsage().rss
  const result = await ingest.ingest({ kind: "one", body: bomb, gzip: true, json: true })
  expect(result).toMatchObject({ ok: false, refusal: { status: 413, reason: "inflated_too_large" } })
  expect(result.ok ? "" : result.refusal.body).toContain("--max-inflated")
  expect(process.memoryUsage().rss - before).toBeLessThan(1 << 26)
})

describe("a pool of threads", () => {
  const job = (text: string): Job => ({ kind: "one", gzip: false, json: true, body: new Uint8Array(Buffer.from(text)) })
  const scripted = (script: string): URL => new URL(`data:text/javascript,${encodeURIComponent(script)}`)

  test("fails only the body of a thread that dies, says why, and goes on with another thread", async () => {
    // Dies of one body and answers the others.
    const file = scripted(`
      import { parentPort } from "node:worker_threads"
      parentPort.on("message", ({ body }) => {
        if (Buffer.from(body).toString() === "poison") throw new Error("out of luck")
        const result = { ok: true, groups: [], digest: Buffer.from(body).toString() }
        parentPort.postMessage({ outcome: "result", result })
      })`)
    const pool = opened(new WorkerPool({ limits, workers: 1, waitingBytes: 1000, memory: new MemoryPool(), file }))
    const results = await Promise.allSettled(["a", "poison", "b", "c"].map((text) => pool.run(job(text))))
    expect(results.map((result) => (result.status === "fulfilled" ? result.value : String(result.reason)))).toEqual([
      { ok: true, groups: [], digest: "a" },
      "AtroposError: Checking the body failed (out of luck); send it again",
      { ok: true, groups: [], digest: "b" },
      { ok: true, groups: [], digest: "c" },
    ])
  })

  test("refuses to let more bodies wait than it may", async () => {
    const file = scripted(`
      import { parentPort } from "node:worker_threads"
      parentPort.on("message", () => {})`)
    const pool = new WorkerPool({ limits, workers: 1, waitingBytes: 10, memory: new MemoryPool(), file })
    let settled = 0
    const running = [pool.run(job("running")), pool.run(job("0123456789"))]
    const refused = await pool.run(job("1"), () => (settled += 1)).catch((error: unknown) => error)
    expect(isAtroposError(refused, "ingest-overloaded")).toBe(true)
    expect(settled).toBe(1)
    expect(pool.waitingBytes).toBe(10)
    const ended = Promise.allSettled(running)
    await pool.close()
    for (const result of await ended) {
      expect(result).toMatchObject({ status: "rejected", reason: { code: "ingest-failed" } })
    }
    await expect(pool.run(job("late"))).rejects.toMatchObject({ code: "ingest-failed" })
  })
})
