import type { Match } from "./match.ts"

const currency = "$€£¥₹₽₪₩₫฿₡₢₣₤₥₦₧₨₭₮₯₰₱₲₳₴₵₶₷₸₺₻₼₾₿"
const prefix = /(?:\s|=|^)(?:\*\*)?/y

/** Thousands in groups; a decimal point or comma; a leading point; digits. A percent sign or word may follow. */
const number =
  /(?:(?<whole1>[-−]?[1-9]\d{0,2}(?:[ ,]\d{3}){1,20}(?!\d))(?<part1>\.\d{1,400})?|(?<whole2>[-−]?\d{1,4000})(?<part2>[.,]\d{1,4000})|(?<part3>[-−]?\.\d{1,4000})|(?<whole4>[-−]?\d{1,4000}))(?<exponent>[eE][+-]?\d{1,4}(?!\w))?(?<percent>\s*(?:\\?%|[Pp]ercent(?:age)?|[Pp]ct))?/y

const operatorCharacters = "+-−*×/^()÷"
const arithmeticStart = /-?\(?-?\d/y
const suffix = /(?:\*\*)?(?:[.,:\s)$]|$)/y

/** Longer calculations in running text are not looked at. */
const maxArithmetic = 240

/** All numbers and calculations that stand after white space, `=` or the start of the text. */
function* allPlain(text: string, from: number): Generator<Match> {
  let index = from
  while (index < text.length) {
    const start = mayOpen(text.charCodeAt(index)) ? prefixStart(text, index) : undefined
    // What stands inside a calculation or number is no answer of its own.
    let next = index + 1
    if (start !== undefined) {
      for (const match of plainAt(text, start)) {
        next = Math.max(next, match.end)
        yield match
      }
    }
    index = next
  }
}

/** Digits, signs, an opening bracket, a point: only they begin a number or calculation. */
function mayOpen(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x28 || code === 0x2e || code === 0x2212
}

/** As `allPlain`, in the last part of a text that has any: the answer is the last one. */
export function lastPlain(text: string): Match[] {
  for (const reach of [2000, 20_000, text.length]) {
    const start = Math.max(0, text.length - reach)
    const matches = [...allPlain(text, start)]
    if (matches.length > 0 || start === 0) return matches
  }
  return []
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0
}

/** Where the prefix (white space or `=`, perhaps bold marks and a currency sign) before `index` begins. */
function prefixStart(text: string, index: number): number | undefined {
  let before = index
  if (before > 0 && currency.includes(text.charAt(before - 1))) before--
  if (text.startsWith("**", before - 2)) before -= 2
  if (before === 0) return 0
  const character = text.charAt(before - 1)
  return character === "=" || /\s/.test(character) ? before - 1 : undefined
}

/** What stands at `start`, prefix included: the longest calculation, and the number. */
export function plainAt(text: string, start: number): Match[] {
  prefix.lastIndex = start
  const before = prefix.exec(text)
  if (before === null) return []
  const from = start + before[0].length
  const matches: Match[] = []
  const arithmetic = arithmeticAt(text, from)
  if (arithmetic !== undefined) matches.push({ start, ...arithmetic })
  const at = currency.includes(text.charAt(from)) && text.charAt(from) !== "" ? from + 1 : from
  const plain = numberAt(text, at)
  if (plain !== undefined) matches.push({ start, ...plain })
  return matches
}

function numberAt(text: string, at: number): Pick<Match, "end" | "content"> | undefined {
  number.lastIndex = at
  const match = number.exec(text)
  if (match?.groups === undefined || /\d/.test(text.charAt(at - 1))) return undefined
  const { whole1, whole2, whole4, part1, part2, part3, exponent = "", percent } = match.groups
  const whole = (whole1 ?? whole2 ?? whole4 ?? "").replaceAll(/[ ,]/g, "")
  const part = (part1 ?? part2 ?? part3 ?? "").replace(",", ".")
  const digits = (whole + part).replace("−", "-") + exponent.toUpperCase()
  return { end: at + match[0].length, content: { kind: "number", digits, percent: percent !== undefined } }
}

/** The longest run of digits, signs and brackets that is followed by the end of a word and has an operator inside. */
function arithmeticAt(text: string, from: number): Pick<Match, "end" | "content"> | undefined {
  arithmeticStart.lastIndex = from
  const opening = arithmeticStart.exec(text)
  if (opening === null) return undefined
  let runEnd = from
  const firstBody = from + opening[0].length
  const limit = Math.min(text.length, from + maxArithmetic)
  const operators: number[] = []
  for (; runEnd < limit; runEnd++) {
    const code = text.charCodeAt(runEnd)
    if ((code >= 0x30 && code <= 0x39) || code === 0x2e || isSpace(code)) continue
    if (!operatorCharacters.includes(text.charAt(runEnd))) break
    if (runEnd >= firstBody) operators.push(runEnd)
  }
  // Most numbers stand alone.
  if (operators.length === 0) return undefined
  for (let end = runEnd; end > firstBody; end--) {
    while (operators.length > 0 && (operators.at(-1) ?? 0) >= end - 1) operators.pop()
    if (operators.length === 0) return undefined
    suffix.lastIndex = end
    const after = suffix.exec(text)
    if (after === null) continue
    return { end: end + after[0].length, content: { kind: "arithmetic", text: text.slice(from, end) } }
  }
  return undefined
}
