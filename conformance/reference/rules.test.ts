import fc from "fast-check"
import { expect, test } from "vitest"

import { chooseBatch, findObstacle } from "../../packages/atropos/src/server/run/forming/choose-batch.ts"
import { createOwner, GroupQueue } from "../../packages/atropos/src/server/run/groups/group-queue.ts"
import { GroupTable, noEnvironment } from "../../packages/atropos/src/server/run/groups/group-table.ts"
import { formBatch, type ReferenceGroup } from "./rules.ts"

const environments = 4

const scenario = fc.record({
  batchSize: fc.integer({ min: 8, max: 60 }),
  sizes: fc.uniqueArray(fc.integer({ min: 1, max: 24 }), { minLength: 1, maxLength: 6 }),
  picks: fc.array(fc.record({ size: fc.nat(5), environment: fc.option(fc.nat(environments - 1), { freq: 5 }) }), {
    minLength: 4,
    maxLength: 36,
    size: "max",
  }),
  shares: fc.uniqueArray(
    fc.record({ environment: fc.nat(environments - 1), share: fc.constantFrom(0.1, 0.25, 0.4, 0.7, 1) }),
    { selector: ({ environment }) => environment, maxLength: environments },
  ),
})

test("long queues of odd sizes with minimums give the batches that the rules, said plainly, give", () => {
  fc.assert(
    fc.property(scenario, ({ batchSize, sizes, picks, shares }) => {
      let groups: ReferenceGroup[] = picks.map(({ size, environment }, id) => {
        return { id, size: sizes[size % sizes.length]!, environment }
      })
      const minimums = shares
        .map(({ environment, share }) => ({ environment, sequences: Math.floor(batchSize * share) }))
        .filter(({ sequences }) => sequences >= 1)
        .toSorted((a, b) => a.environment - b.environment)
      const queue = new GroupQueue(new GroupTable())
      queue.owners.push(...Array.from({ length: environments }, createOwner))
      queue.setLimit(batchSize)
      for (const { id, size, environment } of groups) {
        const facts = { id, size, environment: environment ?? noEnvironment, bytes: 1, step: 0 }
        queue.enqueue(queue.table.add(facts, queue.newKey()))
      }
      for (let batches = 0; batches < 3; batches++) {
        const expected = formBatch(groups, minimums, batchSize)
        const obstacle = findObstacle(queue, minimums, batchSize)
        expect(obstacle === null).toBe(expected !== null)
        if (expected === null) return
        const slots = chooseBatch(queue, minimums, batchSize) ?? []
        expect(slots.map((slot) => queue.table.idOf(slot))).toEqual(expected.map(({ id }) => id))
        for (const slot of slots) {
          queue.reserve(slot)
          queue.discount(slot)
          queue.table.remove(slot)
        }
        groups = groups.filter((group) => !expected.includes(group))
      }
    }),
    { numRuns: Number(process.env["ATROPOS_RANDOM_RUNS"] ?? 150) },
  )
})
