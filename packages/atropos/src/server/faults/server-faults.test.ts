import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { ScoredGroup } from "../../protocol/messages.ts"
import { TrajectoryClient, type TrajectoryClientOptions } from "../../protocol/trajectory-client.ts"
import { openSqliteStore } from "../stores/sqlite/sqlite-store.ts"
import { createTrajectoryServer, type TrajectoryServer, type TrajectoryServerOptions } from "../trajectory-server.ts"
import { startCuttingProxy } from "./cutting-proxy.ts"
import { pushLikePython } from "./python-producer.ts"
import { mountSmallDisk } from "./small-disk.ts"
import { groupIdOf, noiseGroup, smallRegistration } from "./small-run.ts"

let directory: string
let server: TrajectoryServer
let url: string
const clients: TrajectoryClient[] = []

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "atropos-faults-"))
  await start({})
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close({ flushTimeoutMs: 0 })))
  await server.close()
  rmSync(directory, { recursive: true })
})

async function start(options: Partial<TrajectoryServerOptions>, folder = directory): Promise<void> {
  server = createTrajectoryServer({ store: await openSqliteStore({ directory: folder }), ...options })
  url = await server.listen({ host: "127.0.0.1", port: 0 })
}

function connect(options: Partial<TrajectoryClientOptions> = {}): TrajectoryClient {
  const client = new TrajectoryClient({ url, retry: { firstWaitMs: 5, longestWaitMs: 50 }, ...options })
  clients.push(client)
  return client
}

function groupOf(id: number, tokensEach = 3): ScoredGroup {
  const tokens = [0, 1].map((row) =>
    Array.from({ length: tokensEach }, (_, n) => (n === 0 ? id : row + ((id * n) % 97))),
  )
  return { tokens, masks: tokens, scores: [1, -0.25], inference_logprobs: tokens.map((row) => row.map((n) => -n / 7)) }
}

describe("a client and the server", () => {
  it("carry groups to batches bit by bit, and a run over a restart", async () => {
    const before = connect()
    expect(await before.register(smallRegistration)).toMatchObject({
      updated: false,
      uuid: expect.any(BigInt) as bigint,
    })
    expect(await before.batch()).toEqual({ batch: null })
    const environment = { desired_name: "e", max_token_length: 64, group_size: 2, weight: 1 }
    expect(await before.registerEnvironment(environment)).toMatchObject({ env_id: 0, wandb_name: "e_0" })
    const sent = [
      groupOf(1),
      { ...groupOf(2), env_id: 0, messages: [[{ role: "user", content: "ü\u{1f600}" }]] },
      groupOf(3, 9000),
    ]
    await before.pushGroup(sent[0]!)
    expect(await before.pushGroups(sent.slice(1))).toEqual({ status: "received", groups_processed: 2 })
    await server.close()
    await start({})

    const after = connect()
    expect(await after.environmentStatus(0)).toMatchObject({ self_queue_size: 1, queue_size: 3, current_step: 0 })
    const { batch, batch_id } = await after.batch({ waitSeconds: 5, ack: "manual" })
    expect(batch).toMatchObject(sent.slice(0, 2))
    expect(Object.keys(batch![0]!)).toHaveLength(14)
    await after.acknowledge(batch_id!)
    await after.acknowledge(batch_id!)
    await after.log({ source: "trainer", step: 1, metrics: { loss: 0.25 } })
    await after.pushGroup(groupOf(4))
    expect((await after.batch({ waitSeconds: 5 })).batch).toMatchObject([sent[2], groupOf(4)])
    expect(await after.status()).toMatchObject({ current_step: 2, queue_size: 0 })
    expect(groupIdOf(await after.latestExample())).toBe(4)
  })

  it("agree on a refusal's place", async () => {
    const bad = { ...groupOf(1), scores: [1] }
    await expect(connect().pushGroups([groupOf(2), bad])).rejects.toThrow(/refused with 422: \[1\]\.scores: /)
    expect(await connect().pushGroup(groupOf(3))).toEqual({ status: "received" })
  })

  it("agree on a token, as Bearer and in the url", async () => {
    await server.close()
    await start({ token: "s3cret" })
    await expect(connect({ totalTimeoutMs: 0 }).info()).rejects.toMatchObject({ facts: { status: 401 } })
    expect(await connect({ token: "s3cret" }).info()).toEqual({ batch_size: -1, max_token_len: -1 })
    expect(await connect({ url: url.replace("//", "//x:s3cret@") }).info()).toEqual({
      batch_size: -1,
      max_token_len: -1,
    })
  })
})

describe("an answer that is lost on its way", () => {
  it("makes the client push again, which counts once", async () => {
    const proxy = await startCuttingProxy(url)
    const client = connect({ url: proxy.url })
    await client.register(smallRegistration)
    for (let id = 1; id <= 5; id++) {
      proxy.cuts = 2
      await client.pushGroup(groupOf(id))
    }
    expect((await client.status()).queue_size).toBe(5)
    await proxy.close()
  })

  it("makes a Python environment push the same bytes again, which counts once", async () => {
    const proxy = await startCuttingProxy(url)
    const client = connect()
    await client.register(smallRegistration)
    proxy.cuts = 1
    expect(await pushLikePython(proxy.url, groupOf(1))).toBe(true)
    // The same bytes, whose answer arrived: another group.
    expect(await pushLikePython(proxy.url, groupOf(1))).toBe(true)
    expect((await client.status()).queue_size).toBe(2)
    await proxy.close()
  })

  it("is a batch: the trainer gets the same one again", async () => {
    const proxy = await startCuttingProxy(url)
    const client = connect()
    await client.register(smallRegistration)
    for (let id = 1; id <= 4; id++) await client.pushGroup(noiseGroup(id, 200_000))
    proxy.cutAt = "answer"
    proxy.cuts = 1
    const { batch } = await connect({ url: proxy.url }).batch()
    expect(batch!.map(groupIdOf)).toEqual([1, 2])
    expect((await client.batch()).batch!.map(groupIdOf)).toEqual([3, 4])
    await proxy.close()
  })
})

describe("a full disk", () => {
  it("holds pushes back with a 507, loses nothing, and is over when space returns", async ({ skip }) => {
    const disk = mountSmallDisk(48)
    if (disk === null) return skip()
    await server.close()
    await start({}, join(disk.path, "run"))
    const client = connect()
    await client.register(smallRegistration)
    await client.pushGroup(groupOf(1))
    disk.fill(0)
    const status = async (group: ScoredGroup): Promise<number> =>
      (
        await fetch(`${url}/scored_data`, {
          method: "POST",
          body: JSON.stringify(group),
          headers: { "content-type": "application/json" },
        })
      ).status
    let acknowledged = 1
    let refused = 0
    for (let id = 2; id <= 20 && refused < 3; id++) {
      const answer = await status(noiseGroup(id, 100_000))
      expect([200, 507]).toContain(answer)
      if (answer === 200) acknowledged += 1
      else refused += 1
    }
    expect(refused).toBe(3)
    const waiting = client.pushGroup(noiseGroup(99, 100_000))
    await expect.poll(() => client.pendingGroups).toBe(1)
    expect((await client.environmentStatus(0)).registered).toBe(false)
    disk.fill(null)
    expect(await waiting).toEqual({ status: "received" })
    expect((await client.status()).queue_size).toBe(acknowledged + 1)
    await server.close()
    await start({}, join(disk.path, "run"))
    const { batch } = await connect().batch()
    expect(groupIdOf(batch![0]!)).toBe(1)
    await server.close()
    disk.remove()
  })
})
