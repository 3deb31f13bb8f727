import type { MathItem } from "./expression.ts"
import { boxedContent } from "./extract/boxes.ts"
import { findMatches, type Targets as ExtractionTargets } from "./extract/extract.ts"
import type { FormulaPart, Match } from "./extract/match.ts"
import { normaliseLatex, type Normalisation } from "./normalise.ts"
import { parseLatex } from "./parse/parse-latex.ts"
import type { Expression } from "./expression.ts"

export interface LatexTarget {
  type: "latex"
  /** When boxes are looked for: 0 first, 50 behind "final answer is", -1 never. @default 50 */
  boxedPriority?: number
  /** Take formulas without a word such as "answer" before them. @default true */
  anchorless?: boolean
  normalisation?: Normalisation
}

export interface ExprTarget {
  type: "expr"
  /** @default true */
  anchorless?: boolean
}

export interface StringTarget {
  type: "string"
  /** @default ["A", "B", "C", "D"] */
  strings?: readonly string[]
  /** Give them in lower case. @default true */
  lowercase?: boolean
  /** @default true */
  anchorless?: boolean
}

/** What may be taken from a text as an answer. */
export type MathTarget = LatexTarget | ExprTarget | StringTarget

export const defaultTargets: readonly MathTarget[] = [{ type: "latex" }, { type: "expr" }]

export interface ParseAnswerOptions {
  /** Add the text of the first match, for answers that are no formulas. @default true */
  fallback?: boolean
  /** `any` tries match after match until one can be read, `first` looks at the best one only. @default "any" */
  mode?: "any" | "first"
}

/** Longer texts are read from their last so many characters: answers stand at the end. */
const maxText = 200_000
/** Matches that are tried in one text. */
const maxAttempts = 40

/** Finds the answer in a text: its tree, and its text as a fallback. Empty when there is none. Never throws. */
export function parseAnswer(
  text: string,
  targets: readonly MathTarget[] = defaultTargets,
  options: ParseAnswerOptions = {},
): MathItem[] {
  const { fallback = true, mode = "any" } = options
  const source = text.length > maxText ? text.slice(-maxText) : text
  const reader = new MatchReader(targets)
  let attempts = 0
  let fallbackText: string | undefined
  for (const group of findMatches(source, reader.extraction)) {
    for (const match of group) {
      if (++attempts > maxAttempts) return withFallback([], fallback, fallbackText)
      const { item, spelled } = reader.read(match)
      if (spelled !== "") fallbackText ??= spelled
      if (item !== undefined) return withFallback([item], fallback, fallbackText)
      if (mode === "first") return withFallback([], fallback, fallbackText)
    }
  }
  return withFallback([], fallback, fallbackText)
}

function withFallback(items: MathItem[], fallback: boolean, text: string | undefined): MathItem[] {
  if (!fallback || text === undefined || items.some((item) => item.kind === "text" && item.text === text)) return items
  return [...items, { kind: "text", text }]
}

interface Reading {
  item: MathItem | undefined
  /** The text that was read, cleaned up. */
  spelled: string
}

/** Reads matches as the targets say. */
class MatchReader {
  readonly extraction: ExtractionTargets = {}
  private readonly normalisation: Normalisation
  private readonly lowercase: boolean
  /** Formulas that could not be read: a number inside one is not an answer. */
  private readonly failed: { start: number; end: number }[] = []

  constructor(targets: readonly MathTarget[]) {
    const latex = targets.find((target) => target.type === "latex")
    const expr = targets.find((target) => target.type === "expr")
    const string = targets.find((target) => target.type === "string")
    this.normalisation = latex?.normalisation ?? {}
    this.lowercase = string?.lowercase ?? true
    if (latex !== undefined) {
      this.extraction.latex = { boxedPriority: latex.boxedPriority ?? 50, anchorless: latex.anchorless ?? true }
    }
    if (expr !== undefined) this.extraction.expr = { anchorless: expr.anchorless ?? true }
    if (string !== undefined) {
      this.extraction.string = {
        strings: string.strings ?? ["A", "B", "C", "D"],
        anchorless: string.anchorless ?? true,
      }
    }
  }

  read(match: Match): Reading {
    const { content } = match
    switch (content.kind) {
      case "string": {
        const text = this.lowercase ? content.text.toLowerCase() : content.text
        return { item: { kind: "text", text }, spelled: content.text }
      }
      case "number": {
        if (this.insideFailed(match)) return { item: undefined, spelled: "" }
        return plainReading(content.digits, content.percent)
      }
      case "arithmetic":
        if (this.insideFailed(match)) return { item: undefined, spelled: "" }
        return plainReading(content.text, false)
      case "boxes":
        return this.remember(match, this.readBoxes(content.text))
      case "formulas":
        return this.remember(match, this.readFormulas(content.parts))
    }
  }

  private remember(match: Match, reading: Reading): Reading {
    if (reading.item === undefined) this.failed.push({ start: match.start, end: match.end })
    return reading
  }

  private insideFailed(match: Match): boolean {
    return this.failed.some(({ start, end }) => match.start < end - 1 && match.end > start)
  }

  private readBoxes(text: string): Reading {
    const spelled = normaliseLatex(boxedContent(text, "last"), this.normalisation)
    return { item: this.item(this.parse(spelled), true, spelled), spelled }
  }

  private readFormulas(parts: readonly FormulaPart[]): Reading {
    const boxes = this.normalisation.boxed ?? "all"
    const boxed = parts.some(({ text }) => text.includes("\\boxed"))
    const spelled = parts.map(({ text }) =>
      normaliseLatex(boxes === "none" ? text : boxedContent(text, boxes), this.normalisation),
    )
    const trees = parts.map(({ percent }, index): Expression | undefined => {
      const tree = this.parse(spelled[index] ?? "")
      return tree !== undefined && percent ? { kind: "percent", operand: tree } : tree
    })
    const [first] = trees
    const [firstText = ""] = spelled
    const known = trees.filter((tree) => tree !== undefined)
    if (trees.length === 1 || known.length < trees.length) {
      return { item: this.item(first, boxed, firstText), spelled: firstText }
    }
    const elements = known.flatMap((tree) => (tree.kind === "set" ? tree.elements : [tree]))
    const joined = spelled.join(" and ")
    return { item: this.item({ kind: "set", elements }, boxed, joined), spelled: joined }
  }

  private item(expression: Expression | undefined, boxed: boolean, source: string): MathItem | undefined {
    return expression && { kind: "expression", expression, boxed, source }
  }

  private parse(text: string): Expression | undefined {
    const options = { units: this.normalisation.units ?? true, repair: this.normalisation.malformed ?? true }
    return parseLatex(text, options) ?? parseLastEquation(text, options)
  }
}

/** `1 = \foo = x = 0`: when the whole cannot be read, the last side of a longer chain may do. */
function parseLastEquation(text: string, options: { units: boolean; repair: boolean }): Expression | undefined {
  if (text.includes(",") || text.includes(";")) return undefined
  const sides = text.split(/(?<![\\<>!])=/)
  return sides.length > 2 ? parseLatex(sides.at(-1) ?? "", options) : undefined
}

function plainReading(text: string, percent: boolean): Reading {
  const tree = parseLatex(text.replaceAll("**", "^").trim(), { units: false })
  if (tree === undefined) return { item: undefined, spelled: text }
  const expression: Expression = percent ? { kind: "percent", operand: tree } : tree
  return { item: { kind: "expression", expression, boxed: false, source: text }, spelled: text }
}
