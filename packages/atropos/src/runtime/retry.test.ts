import { describe, expect, it } from "vitest"
import { AtroposError } from "./errors.ts"
import { silentLogger } from "./logger.ts"
import { retry, waitAfterFailures } from "./retry.ts"

describe("waits between attempts", () => {
  const waits = (random: number): number[] =>
    [1, 2, 3, 4, 40, 4000].map((failures) =>
      waitAfterFailures(failures, { firstWaitMs: 100, longestWaitMs: 1000, random: () => random }),
    )

  it("double up to the cap, and at least half of it is fixed", () => {
    expect(waits(0)).toEqual([50, 100, 200, 400, 500, 500])
    expect(waits(1)).toEqual([100, 200, 400, 800, 1000, 1000])
  })

  it("are no shorter than what the server asked for, up to a cap", () => {
    const policy = { firstWaitMs: 100, longestRetryAfterMs: 5000, random: () => 0 }
    expect(waitAfterFailures(1, policy, 2000)).toBe(2000)
    expect(waitAfterFailures(1, policy, 3_600_000)).toBe(5000)
    expect(waitAfterFailures(1, policy, 0)).toBe(50)
  })
})

describe("retry", () => {
  const policy = { firstWaitMs: 1, random: () => 0 }
  const lasting = new AtroposError("server-unreachable", "away", { retryable: true })

  it("repeats what says that it is retryable, and gives the value that comes at last", async () => {
    let attempts = 0
    const attempt = async (): Promise<number> => {
      attempts += 1
      if (attempts < 4) throw lasting
      return attempts
    }
    expect(await retry(attempt, { policy, totalTimeoutMs: 60_000 })).toBe(4)
  })

  it("throws what is not retryable at once", async () => {
    let attempts = 0
    const refused = new AtroposError("server-refused", "no")
    const attempt = (): Promise<never> => {
      attempts += 1
      return Promise.reject(refused)
    }
    await expect(retry(attempt, { policy, totalTimeoutMs: 60_000 })).rejects.toBe(refused)
    expect(attempts).toBe(1)
  })

  it("begins no attempt after the total timeout, and throws what failed last", async () => {
    let now = 0
    let attempts = 0
    const attempt = (): Promise<never> => {
      attempts += 1
      now += 400
      return Promise.reject(lasting)
    }
    await expect(retry(attempt, { policy, totalTimeoutMs: 1000, now: () => now })).rejects.toBe(lasting)
    expect(attempts).toBe(3)
  })

  it("says of an outage when it begins, now and then, and when it is over", async () => {
    const lines: string[] = []
    const say =
      (level: string) =>
      (message: string, facts?: Record<string, unknown>): void =>
        void lines.push(`${level} ${message} ${JSON.stringify(facts ?? {})}`)
    const logger = { ...silentLogger, info: say("info"), warn: say("warn"), debug: () => {} }
    let attempts = 0
    const attempt = async (): Promise<void> => {
      attempts += 1
      if (attempts < 15) throw lasting
    }
    const fast = { ...policy, longestWaitMs: 1 }
    await retry(attempt, { policy: fast, totalTimeoutMs: 60_000, report: { logger, what: "GET /info" } })
    expect(lines).toEqual([
      'warn away; trying again {"attempt":1}',
      'warn away; trying again {"attempt":10}',
      "info GET /info works again {}",
    ])
  })

  it("ends with the signal's reason, also in the middle of a wait", async () => {
    const reason = new Error("enough")
    const controller = new AbortController()
    const attempt = (): Promise<never> => {
      setImmediate(() => controller.abort(reason))
      return Promise.reject(lasting)
    }
    const slow = { firstWaitMs: 60_000 }
    const call = retry(attempt, { policy: slow, totalTimeoutMs: 1e9, signal: controller.signal })
    await expect(call).rejects.toMatchObject({ cause: reason })
  })
})
