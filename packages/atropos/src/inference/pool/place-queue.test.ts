import fc from "fast-check"
import { expect, test } from "vitest"

import type { SingleServer } from "../servers/open-server.ts"
import { PlaceQueue, type Place } from "./place-queue.ts"
import { PooledServer } from "./pooled-server.ts"
import type { Split } from "./request-metrics.ts"

interface Step {
  kind: "take" | "release" | "abort" | "strike" | "admit" | "weigh"
  /** Picks a server, a taker, a key or a weight. */
  pick: number
  split: Split
  sticky: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom("take", "take", "take", "release", "release", "abort", "strike", "admit", "weigh"),
  pick: fc.nat(1000),
  split: fc.constantFrom("train", "eval"),
  sticky: fc.boolean(),
})

test("never gives more places than there are, forgets nobody, and leaves no place free that somebody could take", async () => {
  const steps = fc.array(step, { maxLength: 80 })
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const servers = [3, 2, 1].map(
        (places) =>
          new PooledServer({ name: "s" } as SingleServer, {
            limits: { train: places, eval: places },
            metricsLength: 1,
            ignoresN: false,
          }),
      )
      const queue = new PlaceQueue(servers)
      const given: { place: Place; split: Split }[] = []
      const waiting = new Map<AbortController, { split: Split; own: boolean }>()
      const at = (pick: number): PooledServer => servers[pick % servers.length]!

      for (const { kind, pick, split, sticky } of list) {
        if (kind === "take") {
          const controller = new AbortController()
          waiting.set(controller, { split, own: sticky })
          const stickyKey = sticky ? `key ${pick % 4}` : undefined
          queue.take({ split, stickyKey, signal: controller.signal, waitMs: 60_000 }).then(
            (place) => {
              waiting.delete(controller)
              given.push({ place, split })
            },
            () => waiting.delete(controller),
          )
        } else if (kind === "release") given.splice(pick % Math.max(1, given.length), 1)[0]?.place.release()
        else if (kind === "abort") [...waiting.keys()][pick % Math.max(1, waiting.size)]?.abort()
        else if (kind === "strike") {
          at(pick).state = { kind: "unhealthy", reason: "" }
          queue.leave(at(pick))
        } else if (kind === "admit") {
          at(pick).state = { kind: "well" }
          queue.wake(at(pick))
        } else {
          for (const server of servers) server.weight = [0.4, 1, 2][pick % 3]!
          for (const server of servers) queue.wake(server)
        }
        await new Promise((resolve) => setImmediate(resolve))

        for (const server of servers) {
          for (const each of ["train", "eval"] as const) {
            const count = given.filter(({ place, split: own }) => place.server === server && own === each).length
            expect(server.active[each]).toBe(count)
          }
        }
        // Whoever waits does so for want of a place: those without a key at any server, the others at theirs.
        expect(queue.waiting).toBe(waiting.size)
        for (const each of ["train", "eval"] as const) {
          const free = servers.some((server) => server.takes(each))
          const anybody = [...waiting.values()].some(({ split: own, own: keyed }) => own === each && !keyed)
          expect(free && anybody).toBe(false)
          for (const server of servers) {
            expect(server.takes(each) && server.waiting[each].size > 0).toBe(false)
            expect(server.state.kind === "unhealthy" && server.waiting[each].size > 0).toBe(false)
          }
        }
      }
      for (const controller of waiting.keys()) controller.abort()
    }),
    { numRuns: 150 },
  )
})

test("gives places in the order of coming", async () => {
  const server = new PooledServer({ name: "s" } as SingleServer, {
    limits: { train: 1, eval: 1 },
    metricsLength: 1,
    ignoresN: false,
  })
  const queue = new PlaceQueue([server])
  const first = await queue.take({ split: "train", waitMs: 1000 })
  const order: number[] = []
  const others = Array.from({ length: 50 }, async (_, index) => {
    const place = await queue.take({ split: "train", waitMs: 1000, stickyKey: index % 2 === 0 ? "k" : undefined })
    order.push(index)
    place.release()
  })
  first.release()
  first.release()
  await Promise.all(others)
  expect(order).toEqual(others.map((_, index) => index))
  expect(server.active.train).toBe(0)
})
