import { EnvironmentScanner } from "./environments.ts"
import { byPosition, type Match } from "./match.ts"
import { lastPlain, plainAt } from "./plain.ts"
import { StringScanner } from "./strings.ts"

/** What may be taken from a text, as told by its owner. */
export interface Targets {
  latex?: { boxedPriority: number; anchorless: boolean }
  expr?: { anchorless: boolean }
  string?: { strings: readonly string[]; anchorless: boolean }
}

/** Priorities, low ones first. */
const finalAnswerWithHope = 0
const finalAnswerIs = 50
const answerColon = 100
const answerWord = 200
const wholeString = 250
const anywhere = 300

/** How far behind its anchor an answer may stand. */
const anchorReach = 50
const finalReach = 100
const equalsReach = 100
const maxAnchors = 40

/** The places where an answer may stand, in groups of falling priority; within a group best first. */
export function* findMatches(text: string, targets: Targets): Generator<Match[]> {
  const finder = new Finder(text, targets)
  const boxedPriority = targets.latex?.boxedPriority ?? -1
  // Most formulas that are looked at (gold answers, boxes of their own) have no anchor at all.
  const anchors = /answer/i.test(text) ? [finalAnswerWithHope, finalAnswerIs, answerColon, answerWord] : []
  const priorities = [...anchors, wholeString, anywhere]
  if (boxedPriority >= 0 && !priorities.includes(boxedPriority)) priorities.push(boxedPriority)
  for (const priority of priorities.toSorted((a, b) => a - b)) {
    const matches = finder.ofPriority(priority)
    if (priority === boxedPriority) matches.push(...finder.boxes())
    if (matches.length > 0) yield matches.toSorted(byPosition)
  }
}

class Finder {
  private readonly text: string
  private readonly targets: Targets
  private readonly environments: EnvironmentScanner
  private readonly strings: StringScanner | undefined

  constructor(text: string, targets: Targets) {
    this.text = text
    this.targets = targets
    this.environments = new EnvironmentScanner(text)
    this.strings = targets.string === undefined ? undefined : new StringScanner(targets.string.strings)
  }

  ofPriority(priority: number): Match[] {
    switch (priority) {
      case finalAnswerWithHope:
        return this.finalAnswers(true)
      case finalAnswerIs:
        return this.finalAnswers(false)
      case answerColon:
        return this.answers(/answer:/gi)
      case answerWord:
        return this.answers(/answer/gi)
      case wholeString:
        return this.targets.string?.anchorless ? this.stringAtStart() : []
      case anywhere:
        return this.anywhere()
      default:
        return []
    }
  }

  /** Environments with a box in them, and everything from the first box to the last brace. */
  boxes(): Match[] {
    const matches = [...this.environments.all(true)]
    const start = this.text.indexOf("\\boxed{")
    const last = this.text.lastIndexOf("}")
    if (start !== -1 && last > start + "\\boxed{".length) {
      matches.push({ start, end: last + 1, content: { kind: "boxes", text: this.text.slice(start, last + 1) } })
    }
    return matches
  }

  /** "final answer is X. I hope", or "final answer … is X". */
  private finalAnswers(withHope: boolean): Match[] {
    const matches: Match[] = []
    for (const anchor of lastMatches(this.text, /final answer/gi)) {
      const from = anchor.index + anchor[0].length
      if (withHope) {
        const verb = /^ is:?/i.exec(this.text.slice(from, from + 4))
        if (verb !== null) matches.push(...this.behindVerb(from + verb[0].length, true))
        continue
      }
      // The nearest "is" that an answer follows.
      const reach = this.text.slice(from, from + finalReach + 10)
      for (const verb of reach.matchAll(/\sis:?/g)) {
        if (verb.index > finalReach) break
        const found = this.behindVerb(from + verb.index + verb[0].length, false)
        if (found.length === 0) continue
        matches.push(...found)
        break
      }
    }
    return matches
  }

  private behindVerb(position: number, withHope: boolean): Match[] {
    const { text } = this
    let start = position
    while (/\s/.test(text.charAt(start))) start++
    const matches: Match[] = []
    if (this.targets.latex !== undefined) matches.push(...asList(this.environments.at(start, false)))
    if (this.targets.expr !== undefined) {
      const from = start > position ? start - 1 : text.charAt(start) === "=" ? start : undefined
      if (from !== undefined) matches.push(...plainAt(text, from))
    }
    if (this.strings !== undefined) matches.push(...asList(this.strings.at(text, start)))
    if (!withHope) return matches
    return matches.filter(({ end }) => /^[\s.]{0,3}I hope/.test(text.slice(end, end + 12)))
  }

  /** "answer: X" or "answer … X", the nearest X behind each anchor. */
  private answers(anchor: RegExp): Match[] {
    const matches: Match[] = []
    for (const found of lastMatches(this.text, anchor)) {
      const from = found.index + found[0].length
      if (this.targets.latex !== undefined) matches.push(...asList(this.firstEnvironment(from)))
      if (this.targets.expr !== undefined) matches.push(...this.firstPlain(from))
      if (this.strings !== undefined) matches.push(...asList(this.strings.within(this.text, from, anchorReach)))
    }
    return matches
  }

  private firstEnvironment(from: number): Match | undefined {
    const last = Math.min(this.text.length - 1, from + anchorReach)
    for (let start = from; start <= last; start++) {
      if (!/[$\\\s-]/.test(this.text.charAt(start))) continue
      const match = this.environments.at(start, false)
      if (match !== undefined) return match
    }
    return undefined
  }

  /** The number behind the last equals sign within reach, else the nearest; never one that an equals sign follows. */
  private firstPlain(from: number): Match[] {
    const { text } = this
    const line = text.slice(from, from + equalsReach + 1)
    const newline = line.indexOf("\n")
    const reach = newline === -1 ? line : line.slice(0, newline)
    for (let equals = reach.lastIndexOf("="); equals !== -1; equals = reach.lastIndexOf("=", equals - 1)) {
      const found = this.notFollowedByEquals(plainAt(text, behindSpaces(text, from + equals)))
      if (found.length > 0) return found
      if (equals === 0) break
    }
    const last = Math.min(text.length, from + Math.min(anchorReach, reach.length))
    for (let start = from; start <= last; start++) {
      if (!/[\s=]/.test(text.charAt(start))) continue
      const found = this.notFollowedByEquals(plainAt(text, start))
      if (found.length > 0) return found
    }
    return []
  }

  private notFollowedByEquals(matches: readonly Match[]): Match[] {
    return matches.filter(({ end }) => !/^\s*=/.test(this.text.slice(end, end + 20)))
  }

  private stringAtStart(): Match[] {
    const match = this.strings?.within(this.text, 0, 0)
    return match === undefined ? [] : [match]
  }

  private anywhere(): Match[] {
    const { latex, expr, string } = this.targets
    const matches: Match[] = []
    if (latex?.anchorless) matches.push(...this.environments.all(false))
    if (expr?.anchorless) matches.push(...lastPlain(this.text))
    if (string?.anchorless && this.strings !== undefined) matches.push(...this.strings.all(this.text))
    return matches
  }
}

/** The last places of a pattern: the answer is the last one, and a text may repeat an anchor without end. */
function lastMatches(text: string, pattern: RegExp): RegExpExecArray[] {
  return [...text.matchAll(pattern)].slice(-maxAnchors)
}

function asList(match: Match | undefined): Match[] {
  return match === undefined ? [] : [match]
}

/** `= 5`: the place of the last white space before the value, where its prefix begins. */
function behindSpaces(text: string, equals: number): number {
  let position = equals
  while (/\s/.test(text.charAt(position + 1))) position++
  return position
}
