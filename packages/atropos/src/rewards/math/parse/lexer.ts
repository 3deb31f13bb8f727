import { fraction, integer, parseDecimal, type Rational } from "../numbers/rational.ts"
import {
  droppedWithArgument,
  invisibleCommands,
  isKnownCommand,
  listFunctions,
  plainFunctions,
  romanCommands,
  textCommands,
  toAscii,
  wordCommands,
} from "./vocabulary.ts"

/** `spaced`: white space (or a spacing command) stood before it. */
export type Token = { spaced: boolean } & (
  | { type: "number"; value: Rational; decimal: boolean; integer: boolean; groups?: readonly Rational[] }
  /** One letter of a run of letters; `run` is the whole run on its first letter. */
  | { type: "letter"; text: string; run?: string }
  | { type: "command"; name: string }
  /** Words: `\text{…}`, or `\mathrm{…}` and its like, which may also be a unit, a constant or a function (`roman`). */
  | { type: "text"; content: string; roman: boolean }
  | { type: "begin" | "end"; name: string }
  | { type: "symbol"; text: string }
)

/** Longer pieces of mathematics than this are not read: no answer is. */
const maxTokens = 2500

const currency = /[$€£¥₹₽₩₪₫฿₴₺₿]/
/** Environments that only lay lines out. */
const layoutEnvironment = /^\s*(?:align|aligned|gather|gathered|split|equation|eqnarray|multline|flalign)\*?\s*$/
const lineContinues = /^\s*(?:&\s*)?(?:[=<>]|\\(?:le|ge|lt|gt|approx|equiv)|\\end)/
const pairs = new Set(["<=", ">=", "!=", "==", ":=", "=<"])

/** Splits LaTeX into tokens; undefined for what no formula has: unknown commands or characters, or far too much. */
export function tokenize(source: string): Token[] | undefined {
  const text = toAscii(source)
  const tokens: Token[] = []
  let position = 0
  let spaced = false
  let layoutDepth = 0
  const push = (token: DistributiveOmit<Token, "spaced">): void => {
    // Every token is made for this one list.
    tokens.push(Object.assign(token, { spaced }) as Token)
    spaced = false
  }
  while (position < text.length) {
    if (tokens.length > maxTokens) return undefined
    const character = text.charAt(position)
    if (/\s/.test(character) || character === "~") {
      spaced = true
      position++
    } else if (isDigit(character) || (character === "." && isDigit(text.charAt(position + 1)))) {
      const number = readNumber(text, position)
      if (number === undefined) return undefined
      const [first, rest] = splitNumerator(number.token, tokens.at(-1))
      push(first)
      if (rest !== undefined) push(rest)
      position = number.end
    } else if (isLetter(character)) {
      let end = position + 1
      while (isLetter(text.charAt(end))) end++
      const run = text.slice(position, end)
      const command = wordCommands[run] ?? (plainFunctions.has(run) || listFunctions.has(run) ? run : undefined)
      if (command !== undefined) push({ type: "command", name: command })
      else {
        for (let index = 0; index < run.length; index++) {
          push({ type: "letter", text: run.charAt(index), ...(index === 0 ? { run } : {}) })
        }
      }
      position = end
    } else if (character === "\\") {
      const command = readCommand(text, position)
      if (command === undefined) return undefined
      position = command.end
      const { name } = command
      if (name === " " || invisibleCommands.has(name)) {
        spaced = true
        // `\left.` and `\right.` are delimiters that are not there.
        if ((name === "left" || name === "right") && text.charAt(position) === ".") position++
      } else if (droppedWithArgument.has(name)) {
        position = skipArgument(text, position)
      } else if (textCommands.has(name) || romanCommands.has(name)) {
        const argument = readArgument(text, position)
        if (argument === undefined) return undefined
        push({ type: "text", content: argument.content, roman: romanCommands.has(name) })
        position = argument.end
      } else if (name === "begin" || name === "end") {
        const argument = readArgument(text, position)
        if (argument === undefined) return undefined
        position = argument.end
        if (layoutEnvironment.test(argument.content)) {
          layoutDepth += name === "begin" ? 1 : -1
          continue
        }
        // The column specification of an array says nothing about its content.
        if (name === "begin" && argument.content.trim() === "array") position = skipArgument(text, position)
        push({ type: name, name: argument.content.trim() })
      } else if (name === "mathbb") {
        const argument = readArgument(text, position)
        if (argument === undefined) return undefined
        push({ type: "text", content: `\\mathbb ${argument.content.trim()}`, roman: false })
        position = argument.end
      } else if (name === "\\" && layoutDepth > 0) {
        // A new line goes on with the relation, or says the next thing.
        if (!lineContinues.test(text.slice(position, position + 40))) push({ type: "symbol", text: "," })
      } else push({ type: "command", name })
    } else if (character === "&" && layoutDepth > 0) {
      position++
    } else if (currency.test(character)) {
      spaced = true
      position++
    } else if (pairs.has(text.slice(position, position + 2))) {
      push({ type: "symbol", text: text.slice(position, position + 2) })
      position += 2
    } else if (character === "." || character === "\u0000") {
      // Points between other things are punctuation, or dots of "and so on".
      const dots = /^\.+/.exec(text.slice(position, position + 8))?.[0].length ?? 1
      if (dots === 1 && position < text.length - 1 && text.slice(position + 1).trim() !== "") return undefined
      position += dots
    } else if ("+-*/^_!%'()[]{}|,;:=<>&".includes(character)) {
      push({ type: "symbol", text: character })
      position++
    } else if (character === '"' || character === "?") {
      position++
    } else return undefined
  }
  return tokens
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

type NumberToken = DistributiveOmit<Extract<Token, { type: "number" }>, "spaced">

/** `\frac12` is a half: the first digit behind the command is the numerator, the others are the denominator. */
function splitNumerator(token: NumberToken, before: Token | undefined): [NumberToken, NumberToken?] {
  if (before?.type !== "command" || !/^[dtc]?frac$/.test(before.name) || !token.integer) return [token]
  const digits = String(token.value.numerator)
  if (digits.length === 1) return [token]
  const part = (text: string): NumberToken => ({
    type: "number",
    value: integer(BigInt(text)),
    decimal: false,
    integer: true,
  })
  return [part(digits.slice(0, 1)), part(digits.slice(1))]
}

function isDigit(character: string): boolean {
  return character >= "0" && character <= "9" && character.length === 1
}

function isLetter(character: string): boolean {
  return (character >= "a" && character <= "z") || (character >= "A" && character <= "Z")
}

const thousands = /\d{1,3}(?:(?:,|\\,|\\ |~| )\d{3})+(?!\d)/y
const plainNumber = /\d+\.(?=\\(?:overline|dot|bar)\{)|\d+(?:\.\d+)?|\.\d+/y
const repeating = /\\(?:overline|dot|bar)\{(\d{1,40})\}/y
const scientific = /(?:E[+-]?|e)\d{1,4}(?![\d.])/y
const decimals = /\.\d+/y

function readNumber(text: string, start: number): { token: NumberToken; end: number } | undefined {
  let body = matchAt(thousands, text, start)
  let groups: Rational[] | undefined
  let end: number
  if (body !== undefined) {
    end = start + body.length
    if (/^[\d,]+$/.test(body)) groups = body.split(",").map((part) => integer(BigInt(part)))
    body = body.replaceAll(/\D/g, "")
    const part = matchAt(decimals, text, end)
    if (part !== undefined) {
      body += part
      end += part.length
      groups = undefined
    }
  } else {
    body = matchAt(plainNumber, text, start)
    if (body === undefined) return undefined
    end = start + body.length
  }
  const period = matchAt(repeating, text, end)
  if (period !== undefined && body.includes(".")) {
    const value = repeatingDecimal(body, /\d+/.exec(period)?.[0] ?? "")
    return value && { token: { type: "number", value, decimal: false, integer: false }, end: end + period.length }
  }
  const exponent = matchAt(scientific, text, end)
  if (exponent !== undefined) {
    body += exponent
    end += exponent.length
  }
  if (body.length > 4000) return undefined
  const value = parseDecimal(body)
  if (value === undefined) return undefined
  const decimal = body.includes(".")
  return {
    token: {
      type: "number",
      value,
      decimal,
      integer: !decimal && value.denominator === 1n,
      ...(groups === undefined ? {} : { groups }),
    },
    end,
  }
}

/** `0.1\overline{6}` is exactly 1/6. */
function repeatingDecimal(body: string, period: string): Rational | undefined {
  const [whole = "", part = ""] = body.split(".")
  const before = BigInt(whole + part || "0")
  const nines = 10n ** BigInt(period.length) - 1n
  return fraction(before * nines + BigInt(period || "0"), nines * 10n ** BigInt(part.length))
}

function matchAt(pattern: RegExp, text: string, position: number): string | undefined {
  pattern.lastIndex = position
  return pattern.exec(text)?.[0]
}

/** The command at `\`; names that run into the next letters (`\pir`, `\quadx`) are cut at the longest known one. */
function readCommand(text: string, position: number): { name: string; end: number } | undefined {
  const first = text.charAt(position + 1)
  if (first === "") return undefined
  if (!isLetter(first)) return isKnownCommand(first) || first === " " ? { name: first, end: position + 2 } : undefined
  let end = position + 2
  while (isLetter(text.charAt(end))) end++
  let name = text.slice(position + 1, end)
  while (name !== "" && !isKnownCommand(name)) name = name.slice(0, -1)
  if (name === "") return undefined
  end = position + 1 + name.length
  if (name === "operatorname" && text.charAt(end) === "*") end++
  return { name, end }
}

function readArgument(text: string, position: number): { content: string; end: number } | undefined {
  let start = position
  while (/\s/.test(text.charAt(start))) start++
  if (text.charAt(start) !== "{") {
    return isLetter(text.charAt(start)) ? { content: text.charAt(start), end: start + 1 } : undefined
  }
  let depth = 0
  for (let index = start; index < text.length; index++) {
    if (text.charAt(index) === "{") depth++
    else if (text.charAt(index) === "}" && --depth === 0) {
      return { content: text.slice(start + 1, index), end: index + 1 }
    }
  }
  return undefined
}

function skipArgument(text: string, position: number): number {
  return readArgument(text, position)?.end ?? position
}
