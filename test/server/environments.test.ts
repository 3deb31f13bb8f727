import { rmSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { describe, expect, onTestFinished, test } from "vitest"

import { openSqliteStore } from "../../packages/atropos/src/server/stores/sqlite/sqlite-store.ts"
import { markersOf, ServerUnderTest } from "./server-under-test.ts"

describe("an environment that is not heard of", () => {
  test("counts as disconnected after the timeout: its minimum no longer blocks, its weight no longer counts", async () => {
    const server = await ServerUnderTest.start({ envTimeout: 300 })
    await server.begin()
    const dead = await server.registerEnvironment({ min_batch_allocation: 0.5 })
    const alive = await server.registerEnvironment()
    await server.push(1, { env_id: alive })
    expect((await server.get("/batch")).json).toEqual({ batch: null })
    expect((await server.get("/status")).json.reason).toContain("environment 0 (e_0) has a minimum of 2")
    server.clock.ms += 299_000
    expect((await server.get(`/status-env?env_id=${alive}`)).json).toMatchObject({
      env_weight: 0.5,
      unallocated_fraction: 0.5,
    })
    expect((await server.get("/batch")).json).toEqual({ batch: null })
    server.clock.ms += 1_000
    expect((await server.get(`/status-env?env_id=${alive}`)).json).toMatchObject({
      env_weight: 1,
      unallocated_fraction: 1,
    })
    expect(markersOf(await server.get("/batch"))).toEqual([1])
    expect(dead).toBe(0)
  })

  test("is connected again at its next call, be it a poll or a push", async () => {
    const server = await ServerUnderTest.start({ envTimeout: 300 })
    await server.begin()
    const id = await server.registerEnvironment({ min_batch_allocation: 0.5 })
    const fraction = async () => (await server.get("/status-env?env_id=9")).json.unallocated_fraction
    server.clock.ms += 400_000
    expect(await fraction()).toBe(1)
    expect((await server.get(`/status-env?env_id=${id}`)).json.unallocated_fraction).toBe(0.5)
    server.clock.ms += 400_000
    expect(await fraction()).toBe(1)
    await server.push(1, { env_id: id })
    expect(await fraction()).toBe(0.5)
  })

  test("stays disconnected when it said so itself", async () => {
    const server = await ServerUnderTest.start({ envTimeout: 300 })
    await server.begin()
    const id = await server.registerEnvironment({ min_batch_allocation: 0.5 })
    await server.post("/disconnect-env", { env_id: id })
    server.clock.ms += 400_000
    expect((await server.get(`/status-env?env_id=${id}`)).json).toMatchObject({
      unallocated_fraction: 1,
      env_weight: 1,
    })
  })

  test("is still gone after a restart, and those who were there have time to call again", async () => {
    const directory = await mkdtemp(join(tmpdir(), "atropos-leases-"))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const clock = { ms: 1_800_000_000_000 }
    const first = await ServerUnderTest.start({ store: await openSqliteStore({ directory }), clock })
    await first.begin()
    for (const share of [0.25, 0.5]) await first.registerEnvironment({ min_batch_allocation: share })
    clock.ms += 200_000
    await first.get("/status-env?env_id=1")
    clock.ms += 150_000
    expect((await first.get("/status-env?env_id=1")).json.unallocated_fraction).toBe(0.5)
    await first.stop()
    clock.ms += 10_000_000
    const second = await ServerUnderTest.start({ store: await openSqliteStore({ directory }), clock })
    expect((await second.get("/status-env?env_id=9")).json.unallocated_fraction).toBe(0.5)
    clock.ms += 301_000
    expect((await second.get("/status-env?env_id=9")).json.unallocated_fraction).toBe(1)
  })
})

test("further environments than --max-envs are told so", async () => {
  const server = await ServerUnderTest.start({ limits: { maxEnvs: 1 } })
  await server.begin()
  await server.registerEnvironment()
  const { status, json } = await server.post("/register-env", {
    max_token_length: 1,
    desired_name: "e",
    weight: 1,
    group_size: 1,
  })
  expect([status, json.detail]).toEqual([503, expect.stringContaining("--max-envs")])
})

test("numbers of any size come back as they were, and what is told of them stays finite", async () => {
  const server = await ServerUnderTest.start()
  const huge = "123456789012345678901234567890"
  const raw = `{"wandb_group":"g","wandb_project":"p","batch_size":${huge},"max_token_len":-${huge},"checkpoint_dir":"","save_checkpoint_interval":${huge},"starting_step":${huge},"num_steps":${huge}}`
  expect((await server.request("POST", "/register", { raw })).status).toBe(200)
  await server.get("/batch")
  expect((await server.get("/info")).text).toBe(`{"batch_size":${huge},"max_token_len":-${huge}}`)
  for (const [length, weight] of [
    ["9".repeat(400), "1e308"],
    ["1", "1e308"],
    ["1", "1e-300"],
  ]) {
    const environment = `{"max_token_length":${length},"desired_name":"e","weight":${weight},"group_size":${huge},"min_batch_allocation":1}`
    const { text } = await server.request("POST", "/register-env", { raw: environment })
    expect(text).toContain(`"starting_step":${huge},"checkpoint_interval":${huge},"num_steps":${huge}`)
  }
  await server.push(1, { env_id: 0 })
  for (const id of [0, 1, 2, 7]) {
    const { json } = await server.get(`/status-env?env_id=${id}`)
    expect(json.env_weight).toBeGreaterThanOrEqual(0.01)
    expect(json.env_weight).toBeLessThanOrEqual(1)
  }
  expect((await server.get("/status")).text).toContain(`"current_step":${huge}`)
})
