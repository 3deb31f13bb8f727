import { afterEach, expect, it } from "vitest"

import { MathPool, type MathPoolOptions } from "./math-pool.ts"

const pools: MathPool[] = []
const engine = new URL("./looping-engine-fixture.ts", import.meta.url)

function open(options: MathPoolOptions = {}): MathPool {
  const pool = new MathPool({ workers: 1, ...options })
  pools.push(pool)
  return pool
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()))
})

it("checks answers in other threads, in any number at once", async () => {
  const pool = open()
  const verdicts = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      pool.check({ gold: `$${index}$`, answer: `\\boxed{${index - (index % 2)}}` }),
    ),
  )
  expect(verdicts).toEqual(Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? "equal" : "different")))
})

it("ends a check that takes too long, and goes on with a new worker", async () => {
  const pool = open({ timeoutMs: 300, engine })
  const [first, second] = await Promise.all([
    pool.check({ gold: "$\\text{loop}$", answer: "$2$" }),
    pool.check({ gold: "$2$", answer: "$\\frac{4}{2}$" }),
  ])
  expect([first, second]).toEqual(["timeout", "equal"])
})

it("says when an engine threw", async () => {
  expect(await open({ engine }).check({ gold: "$\\text{throw}$", answer: "$2$" })).toBe("failed")
})

it("refuses more checks than may wait", async () => {
  const pool = open({ maxWaiting: 1 })
  const running = pool.check({ gold: "1", answer: "1" })
  const waiting = pool.check({ gold: "1", answer: "1" })
  await expect(pool.check({ gold: "1", answer: "1" })).rejects.toMatchObject({
    code: "math-pool-full",
    retryable: true,
  })
  expect(await Promise.all([running, waiting])).toEqual(["equal", "equal"])
})

it("gives up a check whose signal is aborted, and all when it is closed", async () => {
  const pool = open({ engine })
  const abort = new AbortController()
  const running = pool.check({ gold: "$\\text{loop}$", answer: "$2$" })
  const waiting = pool.check({ gold: "1", answer: "1" }, { signal: abort.signal })
  abort.abort()
  await expect(waiting).rejects.toMatchObject({ name: "AbortError" })
  const ended = expect(running).rejects.toMatchObject({ message: expect.stringContaining("closed") })
  await pool.close()
  await pool.close()
  await ended
  await expect(pool.check({ gold: "1", answer: "1" })).rejects.toMatchObject({ code: "math-pool-closed" })
})
