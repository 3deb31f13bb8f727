// Steps over text that may still grow. Each returns the place after what it stepped over, or PARTIAL when the text
// ends too early to tell, or INVALID when no continuation can help.

export const PARTIAL = -1
export const INVALID = -2

export function skipSpace(text: string, at: number): number {
  let index = at
  while (index < text.length && isSpace(text.charCodeAt(index))) index++
  return index
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d)
}

export function expectText(text: string, at: number, literal: string): number {
  if (text.startsWith(literal, at)) return at + literal.length
  return literal.startsWith(text.slice(at)) ? PARTIAL : INVALID
}

/** `literal` after any white space. */
export function expectSpaced(text: string, at: number, literal: string): number {
  return expectText(text, skipSpace(text, at), literal)
}

/** Where the next `literal` begins. */
export function findText(text: string, at: number, literal: string): number {
  const index = text.indexOf(literal, at)
  return index === -1 ? PARTIAL : index
}

/** Function names: identifiers, with the dots, slashes, colons and dashes that tool servers put into them. */
export function scanName(text: string, at: number): number {
  let index = at
  while (index < text.length && /[\p{L}\p{N}_.\-/:]/u.test(text[index] ?? "")) index++
  if (index === text.length) return PARTIAL
  return index === at ? INVALID : index
}

const maxDepth = 512

/** A JSON value, strictly by the grammar. */
export function scanJson(text: string, at: number, depth = 0): number {
  if (depth > maxDepth) return INVALID
  const start = skipSpace(text, at)
  const first = text[start]
  if (first === undefined) return PARTIAL
  if (first === "{" || first === "[") return scanContainer(text, start, depth)
  if (first === '"') return scanString(text, start)
  if (first === "-" || (first >= "0" && first <= "9")) return scanNumber(text, start)
  for (const word of ["true", "false", "null"]) {
    if (first === word[0]) return expectText(text, start, word)
  }
  return INVALID
}

function scanContainer(text: string, start: number, depth: number): number {
  const isObject = text[start] === "{"
  const close = isObject ? "}" : "]"
  let at = skipSpace(text, start + 1)
  if (text[at] === close) return at + 1
  for (;;) {
    if (isObject) {
      at = skipSpace(text, at)
      if (at === text.length) return PARTIAL
      if (text[at] !== '"') return INVALID
      at = scanString(text, at)
      if (at < 0) return at
      at = expectSpaced(text, at, ":")
      if (at < 0) return at
    }
    at = scanJson(text, at, depth + 1)
    if (at < 0) return at
    at = skipSpace(text, at)
    const next = text[at]
    if (next === undefined) return PARTIAL
    at++
    if (next === close) return at
    if (next !== ",") return INVALID
  }
}

export function scanString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 0x22) return index + 1
    if (code < 0x20) return INVALID
    if (code !== 0x5c) continue
    const escape = text[++index]
    if (escape === undefined) return PARTIAL
    if (escape === "u") {
      const digits = text.slice(index + 1, index + 5)
      if (!/^[0-9a-fA-F]*$/.test(digits)) return INVALID
      if (digits.length < 4) return PARTIAL
      index += 4
    } else if (!'"\\/bfnrt'.includes(escape)) return INVALID
  }
  return PARTIAL
}

function scanNumber(text: string, start: number): number {
  const matched = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
  matched.lastIndex = start
  const found = matched.exec(text)
  const end = found === null ? start : start + found[0].length
  // A number that touches the end of the text may go on.
  const rest = text.slice(end)
  if (/^(?:-|\.|\.?\d*[eE]?[+-]?)?$/.test(rest)) return PARTIAL
  return found === null ? INVALID : end
}

/** Raw texts of the members of the JSON object that begins at `at` and is known to be valid; the last of equal keys counts. */
export function objectMembers(text: string, at: number): Map<string, string> {
  const members = new Map<string, string>()
  let index = skipSpace(text, skipSpace(text, at) + 1)
  while (text[index] === '"') {
    const keyEnd = scanString(text, index)
    const key = JSON.parse(text.slice(index, keyEnd)) as string
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const valueEnd = scanJson(text, valueStart)
    members.set(key, text.slice(valueStart, valueEnd))
    const next = skipSpace(text, valueEnd)
    if (text[next] !== ",") break
    index = skipSpace(text, next + 1)
  }
  return members
}
