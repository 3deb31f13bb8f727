// How long a math check takes: find the answers in two texts and compare them. CPU time of this process, per check, on
// our cases, on Math-Verify's (with ATROPOS_DATA), on whole replies, and on hostile texts. The baseline, in the same
// run, is what many trainers do instead: the last number in the reply, by a regular expression.
import { readFileSync } from "node:fs"

import { mathEquals, parseAnswer, verify, type MathTarget } from "atropos-rl"

import { publicData } from "../conformance/runner/public-data.ts"
import { hostileTexts } from "./math/hostile.ts"

const short = process.argv.includes("--short")
const warmUp = 8
const rounds = short ? 3 : 20
const meanTarget = 0.2
const worstTarget = 50

interface Case {
  gold: string
  answer: string
  equal: boolean
  targets: MathTarget["type"][]
  precision: number
}

let failed = false

const own = readCases(new URL("../conformance/vectors/math-cases.jsonl", import.meta.url).pathname)
measure("our cases", own)
const published = publicData("math-verify-cases.jsonl")
if (published !== undefined) measure("Math-Verify's cases", readCases(published))
measure("our cases as replies of 8,000 characters", own.map(inLongReply))
measureHostile()
process.exit(failed ? 1 : 0)

function readCases(file: string): Case[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Case)
}

function inLongReply(row: Case): Case {
  const thinking = "So $x_1 = 3$, and then we try $f(2) = 7$; that gives 14 of 20 cases (or \\frac{7}{10}). "
  return { ...row, answer: `<think>${thinking.repeat(90)}</think>\n\n${row.answer}` }
}

function measure(name: string, cases: readonly Case[]): void {
  const check = ({ gold, answer, targets, precision }: Case): boolean => {
    const wanted = targets.map((type): MathTarget => ({ type }))
    return verify(parseAnswer(gold, wanted), parseAnswer(answer, wanted), { floatRounding: precision })
  }
  const ours = time(cases, check)
  const baseline = time(cases, ({ gold, answer }) => lastNumber(gold) === lastNumber(answer))
  console.log(
    `${name} (${cases.length}): ${show(ours)}, ${share(ours.right, cases)} judged right; ` +
      `baseline last number: ${show(baseline)}, ${share(baseline.right, cases)} judged right`,
  )
  // The quickest round is what a check takes; the others are that and what else the machine did.
  expectBelow(`${name}, mean`, ours.low, meanTarget)
  expectBelow(`${name}, worst`, ours.worst, worstTarget)
}

interface Timing {
  /** Milliseconds of CPU a check, over all rounds but those that warm up. */
  mean: number
  /** Of the means of single rounds. */
  low: number
  high: number
  /** The slowest check's fastest round, in milliseconds of wall time: what it takes, not what got in its way. */
  worst: number
  right: number
}

function time(cases: readonly Case[], check: (row: Case) => boolean): Timing {
  const means: number[] = []
  const fastest = cases.map(() => Number.POSITIVE_INFINITY)
  let right = 0
  // The first rounds warm the compiler.
  for (let round = 1 - warmUp; round <= rounds; round++) {
    const before = process.cpuUsage()
    right = 0
    for (const [index, row] of cases.entries()) {
      const began = performance.now()
      if (check(row) === row.equal) right += 1
      fastest[index] = Math.min(fastest[index] ?? 0, performance.now() - began)
    }
    const { user, system } = process.cpuUsage(before)
    if (round > 0) means.push((user + system) / 1000 / cases.length)
  }
  const mean = means.reduce((sum, value) => sum + value, 0) / means.length
  return { mean, low: Math.min(...means), high: Math.max(...means), worst: Math.max(...fastest), right }
}

function measureHostile(): void {
  let slowest = { name: "", milliseconds: 0 }
  for (const [name, text] of Object.entries(hostileTexts)) {
    let best = Number.POSITIVE_INFINITY
    for (let round = 0; round < 3; round++) {
      const before = process.cpuUsage()
      mathEquals(text, text)
      const { user, system } = process.cpuUsage(before)
      best = Math.min(best, (user + system) / 1000)
    }
    if (best > slowest.milliseconds) slowest = { name, milliseconds: best }
  }
  const count = Object.keys(hostileTexts).length
  console.log(
    `hostile texts (${count}), compared with themselves: slowest ${slowest.milliseconds.toFixed(1)} ms (${slowest.name})`,
  )
  expectBelow(`hostile: ${slowest.name}`, slowest.milliseconds, worstTarget)
}

function lastNumber(text: string): number | undefined {
  const found = text.match(/-?\d[\d,]*(?:\.\d+)?/g)?.at(-1)
  return found === undefined ? undefined : Number(found.replaceAll(",", ""))
}

function show({ mean, low, high, worst }: Timing): string {
  return `${mean.toFixed(4)} ms a check (rounds ${low.toFixed(4)} to ${high.toFixed(4)}), worst ${worst.toFixed(2)} ms`
}

function share(right: number, cases: readonly Case[]): string {
  return `${((100 * right) / cases.length).toFixed(1)} %`
}

function expectBelow(what: string, value: number, target: number): void {
  if (value <= target) return
  failed = true
  console.log(`MISSED ${what}: ${value.toFixed(3)} ms, wanted at most ${target} ms`)
}
