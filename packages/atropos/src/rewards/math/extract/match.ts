/** One place of a text where an answer may stand. */
export interface Match {
  start: number
  end: number
  content: MatchContent
}

export type MatchContent =
  /** Formulas between LaTeX delimiters (several when joined by "and", "or" or a comma). */
  | { kind: "formulas"; parts: readonly FormulaPart[] }
  /** From the first box command to the last brace of the text. */
  | { kind: "boxes"; text: string }
  | { kind: "number"; digits: string; percent: boolean }
  | { kind: "arithmetic"; text: string }
  | { kind: "string"; text: string }

export interface FormulaPart {
  text: string
  percent: boolean
}

/** The match that ends furthest to the right first; of equal ends the one that begins first. */
export function byPosition(a: Match, b: Match): number {
  return b.end - a.end || a.start - b.start
}
