import { readFile } from "node:fs/promises"
import { join } from "node:path"

import { expect, test } from "vitest"

import { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { isAlive, startQuickstart } from "./started-quickstart.ts"

test("the reward rises, the servers say what is printed, and nothing is left behind", async () => {
  await using run = await startQuickstart("--seed", "3", "--target", "0.2", "--held-out", "0", "--minutes", "5")
  const { parts } = await run.next("parts")
  expect(parts.map(({ name }) => name)).toEqual(["trajectory-server", "policy", "environment", "trainer"])
  expect(parts.every(({ pid }) => isAlive(pid))).toBe(true)

  const client = new TrajectoryClient({ url: parts[0]!.address! })
  const printed = await run.next("step", ({ step }) => step >= 8)
  const status = await client.status()
  // The batch of a printed step has been handed out; the next one may have been too.
  const newest = (): number => run.events.reduce((most, event) => (event.event === "step" ? event.step : most), 0)
  expect(status.current_step).toBeGreaterThanOrEqual(printed.step)
  expect(status.current_step).toBeLessThanOrEqual(newest() + 2)
  const example = await client.latestExample()
  expect(example.tokens).toHaveLength(16)
  expect(example.env_id).toBe(0)
  const mean = example.scores.reduce((total, score) => total + score, 0) / example.scores.length
  expect(Math.abs(mean - printed.reward)).toBeLessThan(0.25)
  const versions = (example.generation_params!["policy_versions"] as { version: number }[][]).flat()
  for (const { version } of versions) {
    expect(version).toBeGreaterThanOrEqual(printed.step - 4)
    expect(version).toBeLessThanOrEqual(newest() + 1)
  }
  for (const [index, logprobs] of example.inference_logprobs!.entries()) {
    const sampled = logprobs.filter((_, position) => example.masks[index]![position] !== -100)
    expect(sampled.every((logprob) => logprob <= 0)).toBe(true)
  }
  await client.close()

  const report = await run.next("report")
  expect((await run.ended).code).toBe(0)
  expect(report.reached).toBe(true)
  expect(report.reward.start).toBeLessThan(0.1)
  expect(report.reward.end).toBeGreaterThan(2 * report.reward.start)
  expect(report.reward.end).toBeGreaterThanOrEqual(0.2)
  expect(report.heldOut.before).toBeLessThan(0.05)
  const steps = run.events.filter((event) => event.event === "step")
  expect(report).toMatchObject({ steps: steps.length, rollouts: 256 * steps.length })
  expect(steps.map(({ step }) => step)).toEqual(steps.map((_, index) => index + 1))
  expect(run.events[0]!.event).toBe("parts")
  expect(run.events.at(-1)!.event).toBe("report")
  expect(JSON.parse(await readFile(join(run.runDirectory, "report.json"), "utf8"))).toEqual(report)
  expect(await readFile(join(run.runDirectory, "logs", "trainer.log"), "utf8")).toContain("training starts")
  expect(parts.filter(({ pid }) => isAlive(pid))).toEqual([])
}, 400_000)
