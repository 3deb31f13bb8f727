import type { Expression, Interval } from "../expression.ts"
import type { Budget } from "../numbers/budget.ts"
import { realValue } from "./values.ts"

/** A set of real numbers as sorted, separate stretches; a single point is a closed stretch of no length. */
export interface RealSet {
  readonly stretches: readonly Stretch[]
  /** All finite ends, and points left out. */
  readonly borders: readonly number[]
}

interface Stretch {
  low: number
  high: number
  lowOpen: boolean
  highOpen: boolean
}

/** Reads intervals, sets of numbers and their combinations; undefined for sets of anything else. */
export function realSet(expression: Expression, budget: Budget): RealSet | undefined {
  const stretches = readStretches(expression, budget)
  return stretches === undefined ? undefined : build(stretches)
}

function readStretches(expression: Expression, budget: Budget): Stretch[] | undefined {
  if (expression.kind === "interval") return stretchOf(expression, budget)
  if (expression.kind === "set") {
    const parts = expression.elements.map((element) => readStretches(element, budget))
    const known = parts.filter((part) => part !== undefined)
    return known.length === parts.length ? known.flat() : undefined
  }
  if (expression.kind === "named-set") return expression.name === "R" ? [everything] : undefined
  if (expression.kind === "combination") {
    const left = readStretches(expression.left, budget)
    const right = readStretches(expression.right, budget)
    if (left === undefined || right === undefined) return undefined
    switch (expression.operator) {
      case "union":
        return [...left, ...right]
      case "intersection":
        return intersect(left, right)
      case "difference":
        return intersect(left, complement(build(right).stretches))
    }
  }
  const value = realValue(expression, budget)
  return value === undefined ? undefined : [{ low: value, high: value, lowOpen: false, highOpen: false }]
}

const everything: Stretch = {
  low: Number.NEGATIVE_INFINITY,
  high: Number.POSITIVE_INFINITY,
  lowOpen: true,
  highOpen: true,
}

function stretchOf(interval: Interval, budget: Budget): Stretch[] | undefined {
  const [low, high] = [realValue(interval.lower, budget), realValue(interval.upper, budget)]
  if (low === undefined || high === undefined) return undefined
  return [
    {
      low,
      high,
      lowOpen: interval.lowerOpen || low === Number.NEGATIVE_INFINITY,
      highOpen: interval.upperOpen || high === Number.POSITIVE_INFINITY,
    },
  ]
}

function intersect(left: readonly Stretch[], right: readonly Stretch[]): Stretch[] {
  return left.flatMap((a) =>
    right.map((b) => ({
      low: Math.max(a.low, b.low),
      high: Math.min(a.high, b.high),
      lowOpen: (a.low >= b.low && a.lowOpen) || (b.low >= a.low && b.lowOpen),
      highOpen: (a.high <= b.high && a.highOpen) || (b.high <= a.high && b.highOpen),
    })),
  )
}

function complement(stretches: readonly Stretch[]): Stretch[] {
  const gaps: Stretch[] = []
  let low = Number.NEGATIVE_INFINITY
  let lowOpen = true
  for (const stretch of stretches) {
    gaps.push({ low, high: stretch.low, lowOpen, highOpen: !stretch.lowOpen })
    low = stretch.high
    lowOpen = !stretch.highOpen
  }
  gaps.push({ low, high: Number.POSITIVE_INFINITY, lowOpen, highOpen: true })
  return gaps
}

function isEmpty({ low, high, lowOpen, highOpen }: Stretch): boolean {
  return low > high || (low === high && (lowOpen || highOpen || !Number.isFinite(low)))
}

/** Sorts stretches and joins those that touch. */
function build(all: readonly Stretch[]): RealSet {
  const sorted = all
    .filter((stretch) => !isEmpty(stretch))
    .toSorted((a, b) => a.low - b.low || Number(a.lowOpen) - Number(b.lowOpen))
  const stretches: Stretch[] = []
  for (const next of sorted) {
    const last = stretches.at(-1)
    const touches =
      last !== undefined && (next.low < last.high || (next.low === last.high && !(next.lowOpen && last.highOpen)))
    if (!touches) stretches.push({ ...next })
    else if (next.high > last.high) {
      last.high = next.high
      last.highOpen = next.highOpen
    } else if (next.high === last.high) last.highOpen &&= next.highOpen
  }
  const borders = stretches.flatMap(({ low, high }) => [low, high]).filter(Number.isFinite)
  return { stretches, borders }
}

export function membership(set: RealSet, point: number): boolean {
  return set.stretches.some(
    ({ low, high, lowOpen, highOpen }) =>
      (lowOpen ? point > low : point >= low) && (highOpen ? point < high : point <= high),
  )
}

/** Same stretches with the same ends, up to rounding. */
export function realSetsEqual(a: RealSet, b: RealSet, floatRounding: number): boolean {
  const near = (x: number, y: number): boolean =>
    x === y || Math.abs(x - y) <= Math.max(0.5 * 10 ** -floatRounding, 1e-11 * Math.max(Math.abs(x), Math.abs(y)))
  return (
    a.stretches.length === b.stretches.length &&
    a.stretches.every((stretch, index) => {
      const other = b.stretches[index]
      return (
        other !== undefined &&
        near(stretch.low, other.low) &&
        near(stretch.high, other.high) &&
        stretch.lowOpen === other.lowOpen &&
        stretch.highOpen === other.highOpen
      )
    })
  )
}
