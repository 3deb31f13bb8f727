import { setTimeout as sleep } from "node:timers/promises"

import { describe, expect, test } from "vitest"

import { isAlive, startQuickstart } from "./started-quickstart.ts"

describe("a part that is killed ends the run with its name and its last lines, and takes all others with it", () => {
  test.each(["trajectory-server", "policy", "environment", "trainer"])("%s", async (name) => {
    await using run = await startQuickstart()
    const { parts } = await run.next("parts")
    await run.next("step")
    const { pid } = parts.find((part) => part.name === name)!
    process.kill(pid, "SIGKILL")
    const { code, stderr } = await run.ended
    expect(code).toBe(1)
    expect(stderr).toContain(`${name} (process ${pid}) ended by SIGKILL`)
    expect(stderr).toMatch(/its last lines:\n {2}\S/)
    expect(parts.filter((part) => isAlive(part.pid))).toEqual([])
  })
})

describe("nothing outlives the quick start", () => {
  test.each(["SIGINT", "SIGTERM"] as const)("when it is stopped by %s", async (signal) => {
    await using run = await startQuickstart()
    const { parts } = await run.next("parts")
    await run.next("step")
    run.kill(signal)
    expect((await run.ended).code).toBe(130)
    expect(parts.filter((part) => isAlive(part.pid))).toEqual([])
  })

  test("when it is killed without a chance to clean up", async () => {
    await using run = await startQuickstart()
    const { parts } = await run.next("parts")
    await run.next("step")
    run.kill("SIGKILL")
    await run.ended
    // Each part notices by itself; there is no event to wait for from outside.
    const deadline = performance.now() + 10_000
    while (parts.some((part) => isAlive(part.pid)) && performance.now() < deadline) await sleep(50)
    expect(parts.filter((part) => isAlive(part.pid)).map((part) => part.name)).toEqual([])
  })

  test("when it is stopped before the parts have started", async () => {
    await using run = await startQuickstart()
    run.kill("SIGINT")
    expect([130, null]).toContain((await run.ended).code)
  })
})

test("a spent budget is exit code 3, with a report", async () => {
  await using run = await startQuickstart("--minutes", "0.15")
  const report = await run.next("report")
  expect((await run.ended).code).toBe(3)
  expect(report.reached).toBe(false)
  expect(report.seconds).toBeLessThan(15)
})

test.each([1, 2, 3, 4, 5])("seed %i learns the task well within the budget", async (seed) => {
  await using run = await startQuickstart("--seed", String(seed))
  const report = await run.next("report")
  expect((await run.ended).code).toBe(0)
  expect(report.reward.end).toBeGreaterThanOrEqual(0.9)
  expect(report.heldOut.before).toBeLessThan(0.05)
  expect(report.heldOut.after).toBeGreaterThanOrEqual(0.9)
  expect(report.seconds).toBeLessThan(90)
})
