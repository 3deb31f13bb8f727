import { INVALID, PARTIAL, skipSpace } from "./scan.ts"
import type { ToolCall } from "./tool-call.ts"

/** A Python literal as JSON text, and the place after it. */
interface Literal {
  json: string
  end: number
}

type Scanned<T> = T | typeof PARTIAL | typeof INVALID

const maxDepth = 200

/** `name(key=literal, …)`: keyword arguments with literal values only. */
export function scanPythonCall(text: string, at: number): Scanned<{ call: ToolCall; end: number }> {
  const nameEnd = scanIdentifier(text, at, true)
  if (nameEnd < 0) return nameEnd as typeof PARTIAL | typeof INVALID
  const open = expectCharacter(text, nameEnd, "(")
  if (open < 0) return open as typeof PARTIAL | typeof INVALID
  const members: string[] = []
  const keys = new Set<string>()
  let index = skipSpace(text, open)
  while (text[index] !== ")") {
    if (index >= text.length) return PARTIAL
    const keyEnd = scanIdentifier(text, index, false)
    if (keyEnd < 0) return keyEnd as typeof PARTIAL | typeof INVALID
    const key = text.slice(index, keyEnd)
    if (keys.has(key)) return INVALID
    keys.add(key)
    const equals = expectCharacter(text, keyEnd, "=")
    if (equals < 0) return equals as typeof PARTIAL | typeof INVALID
    const value = scanLiteral(text, equals, 0)
    if (value === PARTIAL || value === INVALID) return value
    members.push(`${JSON.stringify(key)}: ${value.json}`)
    index = skipSpace(text, value.end)
    if (text[index] === ",") index = skipSpace(text, index + 1)
    else if (index < text.length && text[index] !== ")") return INVALID
  }
  return { call: { name: text.slice(at, nameEnd), arguments: `{${members.join(", ")}}` }, end: index + 1 }
}

/** `[call, call]`, which stands or falls as one. */
export function scanPythonCallList(text: string, at: number): Scanned<{ calls: ToolCall[]; end: number }> {
  const calls: ToolCall[] = []
  let index = skipSpace(text, at + 1)
  while (text[index] !== "]") {
    if (index >= text.length) return PARTIAL
    const found = scanPythonCall(text, index)
    if (found === PARTIAL || found === INVALID) return found
    calls.push(found.call)
    index = skipSpace(text, found.end)
    if (text[index] === ",") index = skipSpace(text, index + 1)
    else if (index < text.length && text[index] !== "]") return INVALID
  }
  return calls.length === 0 ? INVALID : { calls, end: index + 1 }
}

function scanIdentifier(text: string, at: number, dotted: boolean): number {
  const pattern = dotted ? /[\p{L}_][\p{L}\p{N}_.]*/uy : /[\p{L}_][\p{L}\p{N}_]*/uy
  pattern.lastIndex = at
  const found = pattern.exec(text)
  if (found === null) return at >= text.length ? PARTIAL : INVALID
  const end = at + found[0].length
  return end === text.length ? PARTIAL : end
}

function expectCharacter(text: string, at: number, character: string): number {
  const index = skipSpace(text, at)
  if (index >= text.length) return PARTIAL
  return text[index] === character ? index + 1 : INVALID
}

/** The JSON text of what is one Python literal and nothing else; undefined for other text. */
export function readPythonLiteral(text: string): string | undefined {
  // The space ends a number or a name.
  const ended = `${text.trim()} `
  const literal = scanLiteral(ended, 0, 0)
  if (literal === PARTIAL || literal === INVALID) return undefined
  return literal.end === ended.length - 1 ? literal.json : undefined
}

function scanLiteral(text: string, at: number, depth: number): Scanned<Literal> {
  if (depth > maxDepth) return INVALID
  const start = skipSpace(text, at)
  const first = text[start]
  if (first === undefined) return PARTIAL
  if (first === '"' || first === "'") return scanStrings(text, start)
  if (first === "[") return scanSequence(text, start, depth)
  if (first === "{") return scanDictionary(text, start, depth)
  if (/[-+.\d]/.test(first)) return scanNumber(text, start)
  const end = scanIdentifier(text, start, false)
  if (end === PARTIAL || end === INVALID) return end
  const json = words.get(text.slice(start, end))
  return json === undefined ? INVALID : { json, end }
}

/** The JSON spellings are taken too, as servers do: models mix them up. */
const words = new Map([
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
])

function scanSequence(text: string, start: number, depth: number): Scanned<Literal> {
  const items: string[] = []
  let index = skipSpace(text, start + 1)
  while (text[index] !== "]") {
    const item = scanLiteral(text, index, depth + 1)
    if (item === PARTIAL || item === INVALID) return item
    items.push(item.json)
    index = skipSpace(text, item.end)
    if (text[index] === ",") index = skipSpace(text, index + 1)
    else if (index >= text.length) return PARTIAL
    else if (text[index] !== "]") return INVALID
    if (index >= text.length) return PARTIAL
  }
  return { json: `[${items.join(", ")}]`, end: index + 1 }
}

function scanDictionary(text: string, start: number, depth: number): Scanned<Literal> {
  const members = new Map<string, string>()
  let index = skipSpace(text, start + 1)
  while (text[index] !== "}") {
    const key = scanLiteral(text, index, depth + 1)
    if (key === PARTIAL || key === INVALID) return key
    if (/^[[{]/.test(key.json)) return INVALID
    const colon = expectCharacter(text, key.end, ":")
    if (colon < 0) return colon as typeof PARTIAL | typeof INVALID
    const value = scanLiteral(text, colon, depth + 1)
    if (value === PARTIAL || value === INVALID) return value
    members.set(key.json.startsWith('"') ? key.json : JSON.stringify(key.json), value.json)
    index = skipSpace(text, value.end)
    if (text[index] === ",") index = skipSpace(text, index + 1)
    else if (index >= text.length) return PARTIAL
    else if (text[index] !== "}") return INVALID
    if (index >= text.length) return PARTIAL
  }
  return { json: `{${[...members].map(([key, value]) => `${key}: ${value}`).join(", ")}}`, end: index + 1 }
}

function scanNumber(text: string, start: number): Scanned<Literal> {
  const pattern = /([-+]?)((?:\d[\d_]*)?(?:\.[\d_]*)?(?:[eE][-+]?\d*)?)/y
  pattern.lastIndex = start
  const found = pattern.exec(text)
  if (found === null) return INVALID
  const end = start + found[0].length
  // It may go on in what follows.
  if (end === text.length) return PARTIAL
  const body = found[2] ?? ""
  if (!/^(?:\d+(?:_\d+)*)?(?:\.(?:\d+(?:_\d+)*)?)?(?:[eE][-+]?\d+)?$/.test(body) || !/^\.?\d/.test(body)) return INVALID
  const digits = body.replaceAll("_", "")
  if (/^0\d/.test(digits) && !/[.eE]/.test(digits)) return INVALID
  return { json: toJsonNumber(found[1] === "-", digits), end }
}

function toJsonNumber(negative: boolean, digits: string): string {
  let json = digits.replace(/^0+(?=\d)/, "")
  if (json.startsWith(".")) json = `0${json}`
  json = json.replace(/\.(?=$|[eE])/, ".0")
  return negative ? `-${json}` : json
}

/** One string, or several side by side, which Python joins. */
function scanStrings(text: string, start: number): Scanned<Literal> {
  let value = ""
  let index = start
  for (;;) {
    const part = scanString(text, index)
    if (part === PARTIAL || part === INVALID) return part
    value += part.value
    index = skipSpace(text, part.end)
    if (text[index] !== '"' && text[index] !== "'") return { json: JSON.stringify(value), end: part.end }
  }
}

function scanString(text: string, start: number): Scanned<{ value: string; end: number }> {
  const quote = text[start] ?? ""
  const rest = text.slice(start, start + 3)
  // Two quotes may be an empty string or the beginning of three.
  if (rest === quote + quote && start + 2 === text.length) return PARTIAL
  const closing = rest === quote.repeat(3) ? quote.repeat(3) : quote
  let value = ""
  let index = start + closing.length
  while (index < text.length) {
    if (text.startsWith(closing, index)) {
      return { value, end: index + closing.length }
    }
    const character = text[index] ?? ""
    if (character === "\\") {
      const escape = readEscape(text, index)
      if (escape === PARTIAL || escape === INVALID) return escape
      value += escape.value
      index = escape.end
    } else if (character === "\n" && closing.length === 1) {
      return INVALID
    } else {
      value += character
      index++
    }
  }
  return PARTIAL
}

const simpleEscapes = new Map([
  ["\\", "\\"],
  ["'", "'"],
  ['"', '"'],
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["\n", ""],
])

function readEscape(text: string, at: number): Scanned<{ value: string; end: number }> {
  const letter = text[at + 1]
  if (letter === undefined) return PARTIAL
  const simple = simpleEscapes.get(letter)
  if (simple !== undefined) return { value: simple, end: at + 2 }
  const digits = { x: 2, u: 4, U: 8 }[letter]
  if (digits !== undefined) {
    const hex = text.slice(at + 2, at + 2 + digits)
    if (!/^[0-9a-fA-F]*$/.test(hex)) return INVALID
    if (hex.length < digits) return PARTIAL
    const code = Number.parseInt(hex, 16)
    return code > 0x10ffff ? INVALID : { value: String.fromCodePoint(code), end: at + 2 + digits }
  }
  const octal = /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4))
  if (octal !== null) {
    if (at + 1 + octal[0].length === text.length) return PARTIAL
    return { value: String.fromCharCode(Number.parseInt(octal[0], 8)), end: at + 1 + octal[0].length }
  }
  // Python keeps a backslash that begins no escape.
  return { value: `\\${letter}`, end: at + 2 }
}

/** The call as Python source, from arguments in JSON. */
export function writePythonCall(call: ToolCall): string {
  const members = Object.entries(JSON.parse(call.arguments) as Record<string, unknown>)
  return `${call.name}(${members.map(([key, value]) => `${key}=${writeLiteral(value)}`).join(", ")})`
}

function writeLiteral(value: unknown): string {
  if (value === null) return "None"
  if (value === true) return "True"
  if (value === false) return "False"
  if (Array.isArray(value)) return `[${value.map(writeLiteral).join(", ")}]`
  if (typeof value === "object") {
    return `{${Object.entries(value)
      .map(([key, item]) => `${JSON.stringify(key)}: ${writeLiteral(item)}`)
      .join(", ")}}`
  }
  return JSON.stringify(value)
}
