import { rmSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import fc from "fast-check"
import { Client } from "undici"
import { expect, onTestFinished, test } from "vitest"

import { createMemoryStore } from "../../packages/atropos/src/server/stores/memory-store.ts"
import { openSqliteStore } from "../../packages/atropos/src/server/stores/sqlite/sqlite-store.ts"
import type { Store } from "../../packages/atropos/src/server/stores/store.ts"
import { createTrajectoryServer } from "../../packages/atropos/src/server/trajectory-server.ts"
import { ReferenceRun } from "./reference-run.ts"

// Random calls, to a listening server and to the contract in its plainest form: every answer has to be the same.

const trainer = fc.record({
  wandb_group: fc.constantFrom("g", "h"),
  wandb_project: fc.constant("p"),
  batch_size: fc.integer({ min: 1, max: 16 }),
  max_token_len: fc.constant(64),
  checkpoint_dir: fc.constant("/c"),
  save_checkpoint_interval: fc.constant(5),
  starting_step: fc.integer({ min: 0, max: 3 }),
  num_steps: fc.constant(100),
})

const environment = fc.record({
  max_token_length: fc.constantFrom(16, 32, 100),
  desired_name: fc.constantFrom("a", "b"),
  weight: fc.constantFrom(1, 0, -1, 0.5, 3),
  group_size: fc.integer({ min: 1, max: 8 }),
  min_batch_allocation: fc.constantFrom(null, null, 0, 0.2, 0.5, 0.7, 1),
})

const size = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(1, 2, 4, 8) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 17 }) },
)
const id = fc.constantFrom(null, 0, 0, 1, 1, 2, 3, 7, -1)
const push = fc.record({ size, env_id: id })

const call = fc.oneof(
  { weight: 2, arbitrary: fc.record({ call: fc.constant("register" as const), trainer }) },
  { weight: 3, arbitrary: fc.record({ call: fc.constant("register-env" as const), environment }) },
  {
    weight: 1,
    arbitrary: fc.record({ call: fc.constant("disconnect-env" as const), id: fc.integer({ min: -1, max: 4 }) }),
  },
  { weight: 12, arbitrary: fc.record({ call: fc.constant("push" as const), group: push }) },
  {
    weight: 3,
    arbitrary: fc.record({ call: fc.constant("push-list" as const), groups: fc.array(push, { maxLength: 4 }) }),
  },
  { weight: 6, arbitrary: fc.record({ call: fc.constant("batch" as const) }) },
  { weight: 3, arbitrary: fc.record({ call: fc.constant("status" as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({ call: fc.constant("status-env" as const), id: fc.integer({ min: -1, max: 4 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ call: fc.constantFrom("latest" as const, "info" as const, "restart" as const) }),
  },
)
type Call = typeof call extends fc.Arbitrary<infer Value> ? Value : never

const start: Call[] = [
  {
    call: "register",
    trainer: {
      wandb_group: "g",
      wandb_project: "p",
      batch_size: 8,
      max_token_len: 64,
      checkpoint_dir: "/c",
      save_checkpoint_interval: 5,
      starting_step: 0,
      num_steps: 100,
    },
  },
  { call: "batch" },
]

/** Either from nothing, or with a trainer that has begun to poll. */
const sequence = fc
  .record({ started: fc.boolean(), calls: fc.array(call, { minLength: 5, maxLength: 60, size: "max" }) })
  .map(({ started, calls }) => (started ? [...start, ...calls] : calls))

interface Server {
  request(method: "GET" | "POST", path: string, body?: unknown): Promise<{ status: number; json: unknown }>
  restart(): Promise<void>
  close(): Promise<void>
}

async function startServer(openStore: () => Promise<Store>, isDurable: boolean): Promise<Server> {
  const open = async () => {
    const server = createTrajectoryServer({ store: await openStore() })
    return { server, client: new Client(await server.listen({ host: "127.0.0.1", port: 0 })) }
  }
  let current = await open()
  const close = async () => {
    await current.client.close()
    await current.server.close()
  }
  return {
    async request(method, path, body) {
      const json = { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
      const response = await current.client.request({ method, path, ...(body === undefined ? {} : json) })
      const text = await response.body.text()
      return { status: response.statusCode, json: path === "/reset_data" ? text : (JSON.parse(text) as unknown) }
    },
    async restart() {
      if (!isDurable) return
      await close()
      current = await open()
    },
    close,
  }
}

function wireGroup({ size: sequences, env_id }: { size: number; env_id: number | null }, groupId: number): object {
  const rows = Array.from({ length: sequences }, (_, row) => [groupId, row])
  return { tokens: rows, masks: rows, scores: rows.map(() => 1), env_id }
}

function idsOf(batch: unknown): number[] {
  return (batch as { tokens: number[][] }[]).map(({ tokens }) => tokens[0]![0]!)
}

async function compare(server: Server, calls: readonly Call[]): Promise<void> {
  await server.request("GET", "/reset_data")
  const reference = new ReferenceRun()
  let nextId = 1
  for (const step of calls) {
    switch (step.call) {
      case "register": {
        const { json } = await server.request("POST", "/register", step.trainer)
        const { uuid: _, ...rest } = json as { uuid: number }
        expect(rest).toEqual(reference.register(step.trainer))
        break
      }
      case "register-env": {
        const { json } = await server.request("POST", "/register-env", step.environment)
        expect(json).toEqual(reference.registerEnvironment(step.environment))
        break
      }
      case "disconnect-env": {
        const { json } = await server.request("POST", "/disconnect-env", { env_id: step.id })
        expect(json).toMatchObject({ status: reference.disconnectEnvironment(step.id) })
        break
      }
      case "push": {
        const groupId = nextId++
        const { status, json } = await server.request("POST", "/scored_data", wireGroup(step.group, groupId))
        const result = reference.push([{ ...step.group, id: groupId }])
        if (result === "too-long") expect(status).toBe(422)
        else {
          const [buffered] = result.buffered
          expect(json).toEqual(
            buffered === undefined ? { status: "received" } : { status: "buffered", buffer_size: buffered },
          )
        }
        break
      }
      case "push-list": {
        const groups = step.groups.map((group) => ({ ...group, id: nextId++ }))
        const body = groups.map((group) => wireGroup(group, group.id))
        const { status, json } = await server.request("POST", "/scored_data_list", body)
        const result = reference.push(groups)
        if (result === "too-long") expect(status).toBe(422)
        else {
          const last = result.buffered.at(-1)
          const counts = last === undefined ? {} : { buffered: result.buffered.length, last_buffer_size: last }
          expect(json).toEqual({ status: "received", groups_processed: groups.length, ...counts })
        }
        break
      }
      case "batch": {
        const { json } = await server.request("GET", "/batch")
        const expected = reference.batch()
        if (expected === "error") expect(json).toMatchObject({ status: "error", batch: [] })
        else if (expected === null) expect(json).toEqual({ batch: null })
        else expect(idsOf((json as { batch: unknown }).batch)).toEqual(expected)
        break
      }
      case "status": {
        const { json } = await server.request("GET", "/status")
        expect(json).toMatchObject(reference.status)
        if (reference.hasNoBatch) expect(json).toMatchObject({ reason: expect.any(String) as string })
        break
      }
      case "status-env": {
        const { json } = await server.request("GET", "/status-env", { env_id: step.id })
        expect(json).toEqual(reference.environmentStatus(step.id))
        break
      }
      case "latest": {
        const { json } = await server.request("GET", "/latest_example")
        const { tokens } = json as { tokens: number[][] }
        expect(tokens[0]?.[0] ?? null).toBe(reference.latest)
        break
      }
      case "info":
        expect((await server.request("GET", "/info")).json).toEqual(reference.info)
        expect((await server.request("GET", "/wandb_info")).json).toEqual(reference.wandbInfo)
        break
      case "restart":
        await server.restart()
        break
    }
  }
}

/** Thousands of calls take their time on a busy machine. */
const patienceMs = 120_000
const runs = Number(process.env["ATROPOS_RANDOM_RUNS"] ?? 50)

test(
  "random calls are answered as the contract says",
  async () => {
    const server = await startServer(async () => createMemoryStore(), false)
    onTestFinished(() => server.close())
    await fc.assert(
      fc.asyncProperty(sequence, (calls) => compare(server, calls)),
      { numRuns: runs },
    )
  },
  patienceMs,
)

test(
  "random calls are answered as the contract says, also when the server restarts in between",
  async () => {
    const directory = await mkdtemp(join(tmpdir(), "atropos-random-"))
    const server = await startServer(() => openSqliteStore({ directory }), true)
    onTestFinished(async () => {
      await server.close()
      rmSync(directory, { recursive: true })
    })
    await fc.assert(
      fc.asyncProperty(sequence, (calls) => compare(server, calls)),
      { numRuns: Math.ceil(runs / 12) },
    )
  },
  patienceMs,
)
