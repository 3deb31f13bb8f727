// The rules of forming a batch and of buffers, said as plainly as possible and without any regard for cost.

export interface ReferenceGroup {
  id: number
  size: number
  /** The environment it counts for, or null. */
  environment: number | null
}

export interface ReferenceMinimum {
  environment: number
  sequences: number
}

export function sumOf(groups: readonly ReferenceGroup[]): number {
  return groups.reduce((sum, { size }) => sum + size, 0)
}

/** Whether some of the groups, together with all that are taken, sum to the target and meet the minimums. */
function isPossible(
  groups: readonly ReferenceGroup[],
  taken: readonly ReferenceGroup[],
  target: number,
  minimums: readonly ReferenceMinimum[],
): boolean {
  // What has been reached: the sum, and of each environment with a minimum how much of it.
  const start = [0, ...minimums.map(() => 0)]
  let states = new Map([[start.join(), start]])
  const add = (state: readonly number[], group: ReferenceGroup): number[] => [
    (state[0] ?? 0) + group.size,
    ...minimums.map(({ environment, sequences }, index) =>
      Math.min(sequences, (state[index + 1] ?? 0) + (group.environment === environment ? group.size : 0)),
    ),
  ]
  for (const group of groups) {
    const next = taken.includes(group) ? new Map<string, number[]>() : new Map(states)
    for (const state of states.values()) {
      const reached = add(state, group)
      if ((reached[0] ?? 0) <= target) next.set(reached.join(), reached)
    }
    states = next
  }
  return states.has([target, ...minimums.map(({ sequences }) => sequences)].join())
}

/** Walks from the oldest, and takes a group when the target can still be met with it. Null when it can not at all. */
export function takeExactly(groups: readonly ReferenceGroup[], target: number): ReferenceGroup[] | null {
  if (!isPossible(groups, [], target, [])) return null
  const taken: ReferenceGroup[] = []
  for (const group of groups) if (isPossible(groups, [...taken, group], target, [])) taken.push(group)
  return taken
}

/** The pack rule: null when it fails. */
export function takePacks(groups: readonly ReferenceGroup[], target: number): ReferenceGroup[] | null {
  const largest = Math.max(...groups.map(({ size }) => size))
  if (groups.some(({ size }) => largest % size !== 0)) return null
  const open = new Map<number, ReferenceGroup[]>()
  const complete: ReferenceGroup[] = []
  for (const group of groups) {
    const pack = [...(open.get(group.size) ?? []), group]
    open.set(group.size, pack)
    if (pack.length < largest / group.size) continue
    complete.push(...pack)
    open.delete(group.size)
  }
  const batch: ReferenceGroup[] = []
  while (sumOf(batch) < target) {
    const next = complete.shift()
    if (next === undefined) return null
    batch.push(next)
  }
  return sumOf(batch) === target ? batch : null
}

function takeWithMinimums(
  groups: readonly ReferenceGroup[],
  given: readonly ReferenceMinimum[],
  target: number,
): ReferenceGroup[] | null {
  const of = (environment: number): ReferenceGroup[] => groups.filter((group) => group.environment === environment)
  const total = given.reduce((sum, { sequences }) => sum + sequences, 0)
  const minimums = given.map(({ environment, sequences }) => {
    if (total <= target) return { environment, sequences }
    const sizes = of(environment).map(({ size }) => size)
    const smallest = sizes.length === 0 ? 1 : Math.min(...sizes)
    return { environment, sequences: Math.max(smallest, Math.floor((sequences * target) / total)) }
  })
  if (minimums.some(({ environment, sequences }) => sumOf(of(environment)) < sequences)) return null
  const isMeetable = isPossible(groups, [], target, minimums)
  if (!isMeetable && !isPossible(groups, [], target, [])) return null
  const heeded = isMeetable ? minimums : []
  const oldest = ({ environment }: ReferenceMinimum): number =>
    groups.findIndex((group) => group.environment === environment)
  const order = isMeetable ? minimums : minimums.toSorted((a, b) => oldest(a) - oldest(b))
  const taken: ReferenceGroup[] = []
  for (const { environment, sequences } of order) {
    for (const group of of(environment)) {
      if (sumOf(taken.filter((other) => other.environment === environment)) >= sequences) break
      if (isPossible(groups, [...taken, group], target, heeded)) taken.push(group)
    }
  }
  for (const group of groups) {
    if (!taken.includes(group) && isPossible(groups, [...taken, group], target, heeded)) taken.push(group)
  }
  return taken
}

/** The next batch of a queue, or null. */
export function formBatch(
  queue: readonly ReferenceGroup[],
  minimums: readonly ReferenceMinimum[],
  batchSize: number,
): ReferenceGroup[] | null {
  const groups = queue.filter(({ size }) => size <= batchSize)
  if (minimums.length > 0) return takeWithMinimums(groups, minimums, batchSize)
  return groups.length === 0 ? null : (takePacks(groups, batchSize) ?? takeExactly(groups, batchSize))
}
