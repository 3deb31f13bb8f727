/** Which clean-ups a formula gets before it is read. */
export interface Normalisation {
  /** Type faces, sizes, separators, words for percent and infinity. @default true */
  basic?: boolean
  /** Leave units out. @default true */
  units?: boolean
  /** Repair `\frac12`, `\sqrt3`, `x^(2)`, `sqrt(2)`. @default true */
  malformed?: boolean
  /** Small fixes; kept for compatibility: numbers such as `.5` are read either way. @default true */
  nits?: boolean
  /** Which boxes of a formula count: all of them, the last ones that belong together, or none. @default "all" */
  boxed?: "all" | "last" | "none"
}

/** The text of a formula, cleaned up for the parser and for comparing as text. */
export function normaliseLatex(source: string, options: Normalisation): string {
  let text = source
  if (options.basic ?? true) text = normaliseBasic(text)
  if (options.malformed ?? true) text = repairRoots(text)
  return trimPunctuation(text)
}

function normaliseBasic(source: string): string {
  let text = source.replaceAll(/\\!\s*/g, "")
  // A command written with two backslashes, as in JSON inside JSON. Matrices need theirs.
  if (text.includes("\\\\") && !text.includes("matrix") && !text.includes("array") && !text.includes("cases")) {
    text = text.replaceAll(/\\\\(?=[a-zA-Z])/g, "\\")
  }
  return text
    .replaceAll(/\\{1,2}\$|\$/g, "")
    .replaceAll(/\\text\s*\{\s*\}/g, "")
    .replaceAll(/\\(?:text|mbox|textrm|mathrm)\s*\{\s*,?\s*(?:and|or|for|where|with)\s*,?\s*\}/g, ",")
    .replaceAll(/(?<![a-zA-Z\\{])(?:and|or)(?![a-zA-Z])/g, ",")
    .replaceAll(/\s*\{\s*,\s*\}\s*/g, ",")
    .replaceAll(/(?<![\\a-zA-Z])(?:\\text\s*\{\s*)?(?:percentage|percent|pct)\b(?:\s*\})?/g, "\\%")
    .replaceAll(/,(?:\s*,)+/g, ",")
    .replaceAll(/["“”]/g, "")
}

/** `sqrt(2)` and `\sqrt (2)`. */
function repairRoots(text: string): string {
  return text.replaceAll(/(?<![\\a-zA-Z])sqrt(?=\s*[({\d])/g, "\\sqrt")
}

/** White space and punctuation around a formula are the sentence's. */
function trimPunctuation(text: string): string {
  return text.replace(/^[\s,;]+/, "").replace(/[\s.,;:]+$/, (tail) => (tail.endsWith("\\") ? tail : ""))
}
