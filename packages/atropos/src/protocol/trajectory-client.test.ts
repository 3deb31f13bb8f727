import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { createLineLogger } from "../runtime/logger.ts"
import type { ScriptedServer, Step } from "./client/scripted-server.ts"
import { startScriptedServer } from "./client/scripted-server.ts"
import type { ScoredGroup } from "./messages.ts"
import { type RefusedPush, TrajectoryClient, type TrajectoryClientOptions } from "./trajectory-client.ts"

let server: ScriptedServer
let place: string
const clients: TrajectoryClient[] = []

beforeEach(async () => {
  server = await startScriptedServer()
  place = mkdtempSync(join(tmpdir(), "atropos-client-"))
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close({ flushTimeoutMs: 0 })))
  await server.close()
  rmSync(place, { recursive: true })
})

function connect(options: Partial<TrajectoryClientOptions> = {}): TrajectoryClient {
  const client = new TrajectoryClient({
    url: server.url,
    retry: { firstWaitMs: 1, longestWaitMs: 5, random: () => 0 },
    ...options,
  })
  clients.push(client)
  return client
}

/** A group that its first token tells from others. */
const groupOf = (id: number, length = 4): ScoredGroup => {
  const tokens = Array.from({ length }, (_, index) => (index === 0 ? id : 7))
  return { tokens: [tokens], masks: [tokens], scores: [id] }
}
const idOf = (body: unknown): number => (body as ScoredGroup).tokens[0]![0]!
const idsSeen = (): number[] => server.seen.map(({ body }) => idOf(body))

const keysSeen = (): Set<unknown> => new Set(server.seen.map(({ headers }) => headers["idempotency-key"]))

const away: Step = { answer: { detail: "restarting" }, status: 503 }
const refusal: Step = {
  answer: { detail: [{ type: "length_mismatch", loc: ["body", "masks", 0], msg: "4 values, 5 tokens", input: null }] },
  status: 422,
}

describe("a push", () => {
  it("is compact JSON with all keys, gzipped when it is worth it, with a key of its own", async () => {
    const client = connect()
    expect(await client.pushGroup(groupOf(1))).toEqual({ status: "received" })
    await client.pushGroups([groupOf(2, 1000), groupOf(3)])
    const [small, large] = server.seen
    expect(Object.keys(small!.body as object)).toHaveLength(14)
    expect(small!.headers).toMatchObject({ "content-type": "application/json", "content-length": "279" })
    expect(small!.headers["content-encoding"]).toBeUndefined()
    expect(large!.headers["content-encoding"]).toBe("gzip")
    expect(small!.headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/)
    expect(large!.headers["idempotency-key"]).not.toBe(small!.headers["idempotency-key"])
    expect(client.pendingGroups).toBe(0)
  })

  it("keeps connections open", async () => {
    const client = connect()
    for (let id = 0; id < 10; id++) await client.pushGroup(groupOf(id))
    expect(server.connections).toBeLessThanOrEqual(2)
  })

  it.each<[string, Step]>([
    ["503", away],
    ["500 in the middle of nowhere", { text: "Internal Server Error", status: 500 }],
    ["a full disk", { answer: { detail: "no room" }, status: 507 }],
    ["a cut before the answer", { cut: "before-answer" }],
    ["a cut in the answer", { cut: "in-answer" }],
    ["a page instead of JSON", { text: "<html>sign in</html>" }],
    ["another JSON", { answer: { hello: "world" } }],
    ["a late answer", { hang: true }],
  ])("is repeated with the same key after %s", async (_what, step) => {
    server.script = [step, step]
    const client = connect("hang" in step ? { attemptTimeoutMs: 50 } : {})
    expect(await client.pushGroup(groupOf(1))).toEqual({ status: "received" })
    expect(server.seen).toHaveLength(3)
    expect(keysSeen().size).toBe(1)
  })

  it("waits as long as the server asks", async () => {
    server.script = [{ ...away, headers: { "retry-after": "0.2" } } as Step]
    const started = performance.now()
    await connect().pushGroup(groupOf(1))
    expect(performance.now() - started).toBeGreaterThan(190)
  })

  it("waits for a server that is not there, and counts as pending", async () => {
    const port = Number(new URL(server.url).port)
    await server.close()
    const client = connect()
    const pushes = Promise.all([1, 2, 3].map((id) => client.pushGroup(groupOf(id))))
    await expect.poll(() => client.pendingGroups).toBe(3)
    expect(client.pendingBytes).toBeGreaterThan(3 * 200)
    server = await startScriptedServer([], port)
    await pushes
    expect(idsSeen()).toEqual([1, 2, 3])
    expect([client.pendingGroups, client.pendingBytes]).toEqual([0, 0])
  })

  it("goes out in order once the server is back, the oldest alone first", async () => {
    server.script = Array<Step>(6).fill({ cut: "before-answer" })
    const client = connect({ connections: 8 })
    const pushes = Array.from({ length: 12 }, (_, id) => client.pushGroup(groupOf(id)))
    await Promise.all(pushes)
    const answered = idsSeen().slice(6)
    expect(answered).toEqual(Array.from({ length: 12 }, (_, id) => id))
  })

  it("that is refused rejects with the server's words, is not repeated, and is handed to onRefused", async () => {
    const refused: RefusedPush[] = []
    const client = connect({ onRefused: (push) => refused.push(push) })
    server.script = [refusal]
    await expect(client.pushGroup(groupOf(1))).rejects.toMatchObject({
      code: "server-refused",
      message: expect.stringContaining("refused with 422: masks[0]: 4 values, 5 tokens") as string,
      facts: { status: 422 },
      retryable: false,
    })
    expect(server.seen).toHaveLength(1)
    await expect.poll(() => refused).toMatchObject([{ groups: [{ tokens: [[1, 7, 7, 7]] }], file: null }])
    expect(client.pendingGroups).toBe(0)
    await client.pushGroup(groupOf(2))
  })

  it("that JSON can not hold is refused before it is sent", async () => {
    await expect(connect().pushGroup({ ...groupOf(1), scores: [NaN] })).rejects.toThrow(
      /scores\[0\] is no finite number/,
    )
    expect(server.seen).toEqual([])
  })

  it("is delivered also when its caller gives up waiting", async () => {
    server.otherwise = () => away
    const client = connect()
    const controller = new AbortController()
    const push = client.pushGroup(groupOf(1), { signal: controller.signal })
    await expect.poll(() => server.seen.length).toBeGreaterThan(0)
    controller.abort(new Error("enough"))
    await expect(push).rejects.toThrow("enough")
    expect(client.pendingGroups).toBe(1)
    server.otherwise = () => ({ answer: { status: "received" } })
    await client.flush()
    expect(client.pendingGroups).toBe(0)
  })

  it("waits when the spool is full, and is told apart from one that was taken when aborted", async () => {
    server.otherwise = () => ({ hang: true })
    const client = connect({ spoolBytes: 600 })
    const taken = Promise.allSettled([client.pushGroup(groupOf(1)), client.pushGroup(groupOf(2))])
    await expect.poll(() => client.pendingGroups).toBe(2)
    const signal = AbortSignal.timeout(20)
    await expect(client.pushGroup(groupOf(3), { signal })).rejects.toMatchObject({
      code: "spool-full",
      retryable: true,
    })
    expect(client.pendingGroups).toBe(2)
    const waiting = Promise.allSettled([client.pushGroup(groupOf(4))])
    await client.close({ flushTimeoutMs: 0 })
    const outcomes = [...(await taken), ...(await waiting)]
    expect(outcomes).toMatchObject(Array(3).fill({ status: "rejected", reason: { code: "client-closed" } }))
  })

  it("larger than the spool is taken when nothing else is in it", async () => {
    const client = connect({ spoolBytes: 100 })
    await Promise.all([1, 2, 3].map((id) => client.pushGroup(groupOf(id, 50))))
    expect(idsSeen()).toEqual([1, 2, 3])
  })
})

describe("a spool on disk", () => {
  const files = (): string[] => readdirSync(place).filter((name) => name.includes(".json"))

  it("gives what one client could not deliver to the next, in order and with the same keys", async () => {
    server.otherwise = () => away
    const first = connect({ spoolDirectory: place })
    const pushes = Promise.allSettled([1, 2, 3].map((id) => first.pushGroup(groupOf(id, id === 2 ? 2000 : 4))))
    await expect.poll(() => files().length).toBe(3)
    await expect.poll(() => server.seen.length).toBeGreaterThan(0)
    expect(await first.close({ flushTimeoutMs: 0 })).toEqual({ undelivered: 3 })
    for (const push of await pushes) {
      expect(push).toMatchObject({ reason: { message: expect.stringContaining("stays in the spool") as string } })
    }
    const keys = keysSeen()

    server.seen = []
    server.otherwise = () => ({ answer: { status: "received" } })
    writeFileSync(join(place, "000000000009-one-1-half.json.part"), "{")
    const second = connect({ spoolDirectory: place })
    expect(second.pendingGroups).toBe(3)
    await second.pushGroup(groupOf(4))
    await second.flush()
    expect(idsSeen()).toEqual([1, 2, 3, 4])
    expect([...keysSeen()]).toEqual(expect.arrayContaining([...keys]))
    expect(readdirSync(place)).toEqual(["refused", "spool.lock"])
  })

  it("survives a process that is killed", async () => {
    server.otherwise = () => ({ hang: true })
    const { spawn } = await import("node:child_process")
    const program = `
      import { TrajectoryClient } from ${JSON.stringify(new URL("./trajectory-client.ts", import.meta.url).href)}
      const client = new TrajectoryClient({ url: ${JSON.stringify(server.url)}, spoolDirectory: ${JSON.stringify(place)} })
      for (const id of [1, 2]) client.pushGroup({ tokens: [[id]], masks: [[id]], scores: [0] })`
    const child = spawn(process.execPath, ["--eval", program])
    await expect.poll(() => server.seen.length, { timeout: 10_000 }).toBe(2)
    child.kill("SIGKILL")
    await once(child, "exit")
    const keys = keysSeen()
    server.seen = []
    server.otherwise = () => ({ answer: { status: "received" } })
    await connect({ spoolDirectory: place }).flush()
    expect(idsSeen()).toEqual([1, 2])
    expect(keysSeen()).toEqual(keys)
  })

  it("keeps what is refused, with the reason", async () => {
    const client = connect({ spoolDirectory: place })
    server.script = [refusal]
    const error: unknown = await client.pushGroup(groupOf(5, 1000)).catch((reason: unknown) => reason)
    const { file } = (error as { facts: { file: string } }).facts
    expect(error).toMatchObject({ code: "server-refused", message: expect.stringContaining(file) as string })
    expect(idOf(JSON.parse(gunzipSync(readFileSync(file)).toString()))).toBe(5)
    expect(readFileSync(`${file}.txt`, "utf8")).toContain("masks[0]: 4 values, 5 tokens")
    expect(files()).toEqual([])
    await client.close()
    expect(connect({ spoolDirectory: place }).pendingGroups).toBe(0)
    expect(existsSync(file)).toBe(true)
  })

  it("belongs to one client at a time", async () => {
    const first = connect({ spoolDirectory: place })
    expect(() => connect({ spoolDirectory: place })).toThrow(/Another client uses the spool/)
    await first.close()
    connect({ spoolDirectory: place })
  })
})

describe("a call", () => {
  it("is repeated while the server can not be had, up to the total timeout", async () => {
    server.script = [
      away,
      { cut: "before-answer" },
      { text: "not JSON" },
      { answer: { batch_size: 8, max_token_len: 512 } },
    ]
    expect(await connect().info()).toEqual({ batch_size: 8, max_token_len: 512 })
    server.otherwise = () => away
    const call = connect({ totalTimeoutMs: 30 }).info()
    await expect(call).rejects.toMatchObject({ code: "server-refused", retryable: true, facts: { status: 503 } })
  })

  it("may have a total timeout of its own, and the log says of its outage when it begins and ends", async () => {
    const lines: string[] = []
    const logger = createLineLogger({ level: "info", json: false, write: (line) => void lines.push(line) })
    server.script = [away, away, { answer: { batch_size: 8, max_token_len: 512 } }]
    const patient = connect({ totalTimeoutMs: 0, logger }).info({ totalTimeoutMs: Infinity })
    expect(await patient).toEqual({ batch_size: 8, max_token_len: 512 })
    expect(lines.join("")).toMatch(
      /warn {2}GET \S+\/info was refused with 503.*; trying again.*\n.*GET \/info works again/,
    )
  })

  it("names the command that starts a server where none listens", async () => {
    await server.close()
    await expect(connect({ totalTimeoutMs: 0 }).info()).rejects.toThrow(/ECONNREFUSED.*atropos run-api/)
  })

  it.each<[string, Step, object]>([
    ["no answer", { cut: "before-answer" }, { code: "server-unreachable", retryable: true }],
    ["an answer in pieces", { cut: "in-answer" }, { code: "server-unreachable", retryable: true }],
    ["no JSON", { text: "<html>" }, { code: "server-garbled", retryable: true }],
    ["damaged gzip", { text: "abc", headers: { "content-encoding": "gzip" } }, { code: "server-garbled" }],
    [
      "a wrong token",
      { answer: { detail: "a token is needed" }, status: 401 },
      { message: expect.stringMatching(/401: a token is needed$/) as string, retryable: false },
    ],
  ])("says what went wrong: %s", async (_what, step, error) => {
    server.otherwise = () => step
    await expect(connect({ totalTimeoutMs: 0 }).status()).rejects.toMatchObject(error)
  })

  it("ends with its signal's reason, in a wait and in an attempt", async () => {
    server.script = [{ hang: true }]
    const client = connect({ retry: { firstWaitMs: 60_000 } })
    await expect(client.status({ signal: AbortSignal.timeout(20) })).rejects.toMatchObject({ name: "TimeoutError" })
    server.otherwise = () => away
    await expect(client.status({ signal: AbortSignal.timeout(20) })).rejects.toThrow(/abort/i)
  })

  it("carries the token as Bearer, or what stands in the url as Basic", async () => {
    const answer = { answer: { current_step: 0, queue_size: 0 } }
    server.script = [answer, answer, answer]
    await connect({ token: "secret" }).status()
    await connect({ url: server.url.replace("//", "//x:se%20cret@") }).status()
    await connect({ url: `${server.url}/` }).status()
    const sent = server.seen.map(({ headers }) => headers.authorization)
    expect(sent).toEqual(["Bearer secret", `Basic ${Buffer.from("x:se cret").toString("base64")}`, undefined])
    expect(server.seen.map(({ path }) => path)).toEqual(["/status", "/status", "/status"])
  })

  it("never shows the url's token in an error", async () => {
    server.otherwise = () => away
    const client = connect({ url: server.url.replace("//", "//x:secret@"), totalTimeoutMs: 0 })
    const error: unknown = await client.status().catch((reason: unknown) => reason)
    expect(String(error)).not.toContain("secret")
    expect(() => connect({ url: "ftp://x:secret@host" })).toThrow(
      /looks like "http:\/\/127\.0\.0\.1:8000", received "ftp:\/\/…@host"/,
    )
  })

  it("asks for a batch with its wait and acknowledges it", async () => {
    server.script = [
      { answer: { batch: null } },
      { answer: { batch: [], batch_id: "b/1" } },
      { answer: {} },
      { answer: {} },
    ]
    const client = connect()
    expect(await client.batch()).toEqual({ batch: null })
    expect(await client.batch({ waitSeconds: 5, ack: "manual" })).toEqual({ batch: [], batch_id: "b/1" })
    await client.acknowledge("b/1")
    await client.log({ source: "trainer", step: 3, metrics: { loss: 0.5 } })
    expect(server.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /batch",
      "GET /batch?wait=5&ack=manual",
      "POST /batch/b%2F1/ack",
      "POST /log",
    ])
  })
})
