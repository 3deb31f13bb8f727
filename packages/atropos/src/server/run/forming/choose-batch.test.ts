import fc from "fast-check"
import { describe, expect, test } from "vitest"

import { createOwner, GroupQueue } from "../groups/group-queue.ts"
import { GroupTable, noEnvironment } from "../groups/group-table.ts"
import { chooseBatch, findObstacle } from "./choose-batch.ts"

interface Group {
  id: number
  size: number
  environment: number
}

interface MinimumOf {
  environment: number
  sequences: number
}

// The rules again, as plainly as they can be said: every set of groups is looked at.

function someSetWith(
  queue: readonly Group[],
  taken: readonly Group[],
  batchSize: number,
  accepts: (set: readonly Group[]) => boolean,
): boolean {
  const rest = queue.filter((group) => !taken.includes(group))
  const search = (index: number, set: Group[], sum: number): boolean => {
    if (sum === batchSize && accepts(set)) return true
    if (sum >= batchSize || index === rest.length) return false
    const group = rest[index]!
    return search(index + 1, [...set, group], sum + group.size) || search(index + 1, set, sum)
  }
  const sum = taken.reduce((total, { size }) => total + size, 0)
  return search(0, [...taken], sum)
}

function packsByTheBook(queue: readonly Group[], batchSize: number): Group[] | null {
  const largest = Math.max(...queue.map(({ size }) => size))
  if (queue.some(({ size }) => largest % size !== 0)) return null
  const open = new Map<number, Group[]>()
  const complete: Group[] = []
  for (const group of queue) {
    const pack = [...(open.get(group.size) ?? []), group]
    if (pack.length === largest / group.size) {
      complete.push(...pack)
      open.delete(group.size)
    } else open.set(group.size, pack)
  }
  const batch: Group[] = []
  let sum = 0
  for (const group of complete) {
    if (sum === batchSize) break
    batch.push(group)
    sum += group.size
  }
  return sum === batchSize ? batch : null
}

function exactByTheBook(queue: readonly Group[], batchSize: number): Group[] | null {
  const taken: Group[] = []
  for (const group of queue) {
    if (someSetWith(queue, [...taken, group], batchSize, () => true)) taken.push(group)
  }
  return taken.reduce((sum, { size }) => sum + size, 0) === batchSize ? taken : null
}

function minimumsByTheBook(queue: readonly Group[], given: readonly MinimumOf[], batchSize: number): Group[] | null {
  const of = (environment: number) => queue.filter((group) => group.environment === environment)
  const sum = (groups: readonly Group[]) => groups.reduce((total, { size }) => total + size, 0)
  const total = given.reduce((all, { sequences }) => all + sequences, 0)
  const minimums = given.map(({ environment, sequences }) => {
    if (total <= batchSize) return { environment, sequences }
    const smallest = Math.min(...of(environment).map(({ size }) => size))
    const share = Math.floor((sequences * batchSize) / total)
    return { environment, sequences: Math.max(smallest === Infinity ? 1 : smallest, share) }
  })
  if (minimums.some(({ environment, sequences }) => sum(of(environment)) < sequences)) return null
  const meetsAll = (set: readonly Group[]) =>
    minimums.every(
      ({ environment, sequences }) => sum(set.filter((group) => group.environment === environment)) >= sequences,
    )
  const possible = someSetWith(queue, [], batchSize, meetsAll)
  if (!possible && !someSetWith(queue, [], batchSize, () => true)) return null
  const accepts = possible ? meetsAll : () => true
  const oldest = ({ environment }: MinimumOf) => queue.findIndex((group) => group.environment === environment)
  const order = possible ? minimums : minimums.toSorted((a, b) => oldest(a) - oldest(b))
  const taken: Group[] = []
  for (const { environment, sequences } of order) {
    for (const group of of(environment)) {
      if (sum(taken.filter((entry) => entry.environment === environment)) >= sequences) break
      if (someSetWith(queue, [...taken, group], batchSize, accepts)) taken.push(group)
    }
  }
  for (const group of queue) {
    if (taken.includes(group)) continue
    if (someSetWith(queue, [...taken, group], batchSize, accepts)) taken.push(group)
  }
  return taken
}

function byTheBook(all: readonly Group[], minimums: readonly MinimumOf[], batchSize: number): number[] | null {
  const queue = all.filter(({ size }) => size <= batchSize)
  const batch =
    minimums.length > 0
      ? minimumsByTheBook(queue, minimums, batchSize)
      : queue.length === 0
        ? null
        : (packsByTheBook(queue, batchSize) ?? exactByTheBook(queue, batchSize))
  return batch?.map(({ id }) => id) ?? null
}

function queueOf(groups: readonly Group[], environments: number, batchSize: number): GroupQueue {
  const queue = new GroupQueue(new GroupTable())
  queue.owners.push(...Array.from({ length: environments }, createOwner))
  queue.setLimit(batchSize)
  for (const group of groups) queue.enqueue(queue.table.add({ ...group, bytes: 1, step: 0 }, queue.newKey()))
  return queue
}

function choose(queue: GroupQueue, minimums: readonly MinimumOf[], batchSize: number): number[] | null {
  if (findObstacle(queue, minimums, batchSize) !== null) return null
  return chooseBatch(queue, minimums, batchSize)?.map((slot) => queue.table.idOf(slot)) ?? null
}

const sizeFamilies = [[1, 2, 4, 8], [1, 2, 4], [2, 3, 4, 6, 12], [3, 4], [6, 8], [1, 2, 3, 5, 7], [4], [2, 5, 9]]

const scenario = fc.record({
  sizes: fc.constantFrom(...sizeFamilies),
  picks: fc.array(fc.record({ size: fc.nat(7), environment: fc.integer({ min: -1, max: 3 }) }), { maxLength: 11 }),
  batchSize: fc.integer({ min: 1, max: 16 }),
  minimums: fc.uniqueArray(
    fc.record({ environment: fc.integer({ min: 0, max: 3 }), sequences: fc.integer({ min: 1, max: 10 }) }),
    { selector: ({ environment }) => environment, maxLength: 3 },
  ),
})

function groupsOf(sizes: readonly number[], picks: readonly { size: number; environment: number }[]): Group[] {
  return picks.map(({ size, environment }, id) => ({ id, size: sizes[size % sizes.length]!, environment }))
}

describe("forming a batch", () => {
  test("chooses what the rules say, without minimums", () => {
    fc.assert(
      fc.property(scenario, ({ sizes, picks, batchSize }) => {
        const groups = groupsOf(sizes, picks)
        const queue = queueOf(groups, 4, batchSize)
        expect(choose(queue, [], batchSize)).toEqual(byTheBook(groups, [], batchSize))
      }),
      { numRuns: 3000 },
    )
  })

  test("chooses what the rules say, with minimums", () => {
    fc.assert(
      fc.property(scenario, ({ sizes, picks, batchSize, minimums }) => {
        fc.pre(minimums.length > 0)
        const groups = groupsOf(sizes, picks)
        const queue = queueOf(groups, 4, batchSize)
        const inOrder = minimums
          .map(({ environment, sequences }) => ({ environment, sequences: Math.min(sequences, batchSize) }))
          .toSorted((a, b) => a.environment - b.environment)
        expect(choose(queue, inOrder, batchSize)).toEqual(byTheBook(groups, inOrder, batchSize))
      }),
      { numRuns: 3000 },
    )
  })

  test("batch after batch, what is left is as if the queue had been built of it", () => {
    fc.assert(
      fc.property(scenario, ({ sizes, picks, batchSize, minimums }) => {
        let groups = groupsOf(sizes, picks)
        const queue = queueOf(groups, 4, batchSize)
        const inOrder = minimums.toSorted((a, b) => a.environment - b.environment)
        for (;;) {
          const ids = choose(queue, inOrder, batchSize)
          expect(ids).toEqual(byTheBook(groups, inOrder, batchSize))
          if (ids === null) return
          const slots = ids.map((id) => queue.table.slotOf(id)!)
          for (const slot of slots) queue.reserve(slot)
          for (const slot of slots) queue.discount(slot)
          for (const slot of slots) queue.table.remove(slot)
          groups = groups.filter(({ id }) => !ids.includes(id))
        }
      }),
      { numRuns: 1000 },
    )
  })

  test("the oldest group waits no longer than it must, however many sizes there are", () => {
    const sizes = Array.from({ length: 300 }, (_, index) => index + 2)
    const groups = sizes.flatMap((size, index) => [
      { id: index * 2, size, environment: noEnvironment },
      { id: index * 2 + 1, size: 301 - index, environment: noEnvironment },
    ])
    const queue = queueOf(groups, 0, 4096)
    const chosen = choose(queue, [], 4096)
    expect(chosen?.[0]).toBe(0)
    expect(chosen?.reduce((sum, id) => sum + groups.find((group) => group.id === id)!.size, 0)).toBe(4096)
  })
})
