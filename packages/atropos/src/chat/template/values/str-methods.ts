// Methods of str, but for format and format_map.
import type { Runtime } from "../runtime.ts"
import { typeError, valueError } from "./errors.ts"
import { isTrue, iterate } from "./iterate.ts"
import {
  codePoints,
  isSpace,
  rsplitAtSpace,
  splitAtSpace,
  splitLines,
  stripEnd,
  stripStart,
  textLength,
  unitOffset,
} from "./text.ts"
import { asInteger, asText, Tuple, typeName, type Arguments, type Value } from "./value.ts"

type TextMethod = (self: string, args: Arguments, runtime: Runtime) => Value

/** A text argument; null and absent are the same. */
function optionalText(callee: string, value: Value | undefined): string | undefined {
  if (value === undefined || value === null) return undefined
  return neededText(callee, value)
}

function neededText(callee: string, value: Value | undefined): string {
  const text = asText(value)
  if (text === undefined) throw typeError(`${callee}() wants a str, not ${typeName(value ?? null)}`)
  return text
}

function neededInteger(callee: string, value: Value | undefined): number {
  const integer = asInteger(value)
  if (integer === undefined) throw typeError(`${callee}() wants an int, not ${typeName(value ?? null)}`)
  return Number(integer)
}

function plain(name: string, apply: (self: string) => Value): [string, TextMethod] {
  return [
    name,
    (self, args, runtime) => {
      args.positionalOnly(name, 0, 0)
      runtime.budget.text(self.length)
      return apply(self)
    },
  ]
}

function strip(name: string, apply: (self: string, characters?: string) => string): [string, TextMethod] {
  return [
    name,
    (self, args) => {
      const [characters] = args.positionalOnly(name, 0, 1)
      return apply(self, optionalText(name, characters))
    },
  ]
}

function split(name: string, fromEnd: boolean): [string, TextMethod] {
  return [
    name,
    (self, args, runtime) => {
      const [separatorValue, limitValue] = args.bind(name, ["sep", "maxsplit"])
      const separator = optionalText(name, separatorValue)
      const wanted = limitValue === undefined ? -1 : neededInteger(name, limitValue)
      const limit = wanted < 0 ? Number.POSITIVE_INFINITY : wanted
      if (separator === "") throw valueError("empty separator")
      const parts =
        separator === undefined ? splitSpaces(self, limit, fromEnd) : splitAt(self, separator, limit, fromEnd)
      runtime.budget.list(parts.length)
      return parts
    },
  ]
}

function splitSpaces(text: string, limit: number, fromEnd: boolean): string[] {
  return fromEnd && limit !== Number.POSITIVE_INFINITY ? rsplitAtSpace(text, limit) : splitAtSpace(text, limit)
}

function splitAt(text: string, separator: string, limit: number, fromEnd: boolean): string[] {
  const parts = text.split(separator)
  if (parts.length - 1 <= limit) return parts
  return fromEnd
    ? [parts.slice(0, parts.length - limit).join(separator), ...parts.slice(parts.length - limit)]
    : [...parts.slice(0, limit), parts.slice(limit).join(separator)]
}

function edge(name: "startswith" | "endswith"): [string, TextMethod] {
  return [
    name,
    (self, args) => {
      const [wanted = null, start, stop] = args.positionalOnly(name, 1, 3)
      const part = window(self, start, stop)
      const options = wanted instanceof Tuple ? wanted.items : [wanted]
      return options.some((option) => {
        const text = neededText(name, option)
        if (part === undefined) return false
        return name === "startswith" ? part.text.startsWith(text) : part.text.endsWith(text)
      })
    },
  ]
}

/** The text between two code-point positions, as find, count and startswith read them; undefined for an empty span past its end. */
function window(
  text: string,
  start: Value | undefined,
  stop: Value | undefined,
): { text: string; offset: number } | undefined {
  if ((start ?? null) === null && (stop ?? null) === null) return { text, offset: 0 }
  const length = textLength(text)
  const position = (value: Value | undefined, absent: number): number => {
    if (value === undefined || value === null) return absent
    const index = neededInteger("slice", value)
    return index < 0 ? Math.max(0, index + length) : index
  }
  const from = position(start, 0)
  const to = Math.min(length, position(stop, length))
  if (from > to) return undefined
  return { text: text.slice(unitOffset(text, from), unitOffset(text, to)), offset: from }
}

function find(name: string, fromEnd: boolean, raises: boolean): [string, TextMethod] {
  return [
    name,
    (self, args) => {
      const [wanted, start, stop] = args.positionalOnly(name, 1, 3)
      const text = neededText(name, wanted)
      const part = window(self, start, stop)
      const unit = part === undefined ? -1 : fromEnd ? part.text.lastIndexOf(text) : part.text.indexOf(text)
      if (part === undefined || unit < 0) {
        if (raises) throw valueError("substring not found")
        return -1n
      }
      return BigInt(part.offset + textLength(part.text.slice(0, unit)))
    },
  ]
}

function occurrences(text: string, wanted: string): number {
  if (wanted === "") return textLength(text) + 1
  return text.split(wanted).length - 1
}

/** str.replace: the first `count` occurrences, all of them for a negative count. */
export function replaceText(text: string, old: string, replacement: string, count: number, runtime: Runtime): string {
  if (count === 0) return text
  if (old === "") return insertBetween(text, replacement, count, runtime)
  const found = occurrences(text, old)
  const times = count < 0 ? found : Math.min(count, found)
  runtime.budget.text(text.length + times * (replacement.length - old.length))
  const parts = splitAt(text, old, times, false)
  return parts.join(replacement)
}

function insertBetween(text: string, insertion: string, count: number, runtime: Runtime): string {
  const characters = Array.from(codePoints(text))
  const times = count < 0 ? characters.length + 1 : Math.min(count, characters.length + 1)
  runtime.budget.text(text.length + times * insertion.length)
  let result = ""
  for (let i = 0; i <= characters.length; i += 1) result += (i < times ? insertion : "") + (characters[i] ?? "")
  return result
}

function justify(name: string, place: (missing: number, width: number) => number): [string, TextMethod] {
  return [
    name,
    (self, args, runtime) => {
      const [widthValue, fillValue] = args.positionalOnly(name, 1, 2)
      const fill = fillValue === undefined ? " " : neededText(name, fillValue)
      if (textLength(fill) !== 1) throw typeError("The fill character must be exactly one character long")
      return padded(self, neededInteger(name, widthValue), fill, place, runtime)
    },
  ]
}

/** Pads to `width` code points; `place` says how many of the missing ones go to the left. */
export function padded(
  text: string,
  width: number,
  fill: string,
  place: (missing: number, width: number) => number,
  runtime: Runtime,
): string {
  const missing = width - textLength(text)
  if (missing <= 0) return text
  runtime.budget.text(text.length + missing * fill.length)
  const left = place(missing, width)
  return fill.repeat(left) + text + fill.repeat(missing - left)
}

/** CPython puts the odd blank to the left when the width is odd. */
export function centerLeft(missing: number, width: number): number {
  return (missing >> 1) + (missing & width & 1)
}

function partition(name: string, fromEnd: boolean): [string, TextMethod] {
  return [
    name,
    (self, args) => {
      const [value] = args.positionalOnly(name, 1, 1)
      const separator = neededText(name, value)
      if (separator === "") throw valueError("empty separator")
      const at = fromEnd ? self.lastIndexOf(separator) : self.indexOf(separator)
      if (at < 0) return new Tuple(fromEnd ? ["", "", self] : [self, "", ""])
      return new Tuple([self.slice(0, at), separator, self.slice(at + separator.length)])
    },
  ]
}

const cased = /[\p{Lowercase}\p{Uppercase}\p{Lt}]/u
const cap = /[\p{Uppercase}\p{Lt}]/u

/** First letter of a word in title case, which a few letters (ǆ → ǅ) have apart from upper case. */
function toTitleLetter(letter: string): string {
  const special = titleLetters.get(letter)
  if (special !== undefined) return special
  const upper = letter.toUpperCase()
  const [first = "", ...rest] = upper
  return rest.length === 0 ? upper : first + rest.join("").toLowerCase()
}

const titleLetters = new Map([
  ["Ǆ", "ǅ"],
  ["ǅ", "ǅ"],
  ["ǆ", "ǅ"],
  ["Ǉ", "ǈ"],
  ["ǈ", "ǈ"],
  ["ǉ", "ǈ"],
  ["Ǌ", "ǋ"],
  ["ǋ", "ǋ"],
  ["ǌ", "ǋ"],
  ["Ǳ", "ǲ"],
  ["ǲ", "ǲ"],
  ["ǳ", "ǲ"],
])

export function capitalize(text: string): string {
  const [first = "", ...rest] = text
  return toTitleLetter(first) + rest.join("").toLowerCase()
}

function titleCase(text: string): string {
  let result = ""
  let inWord = false
  for (const character of text) {
    result += inWord ? character.toLowerCase() : toTitleLetter(character)
    inWord = cased.test(character)
  }
  return result
}

function isTitle(text: string): boolean {
  let inWord = false
  let any = false
  for (const character of text) {
    if (cap.test(character)) {
      if (inWord) return false
      inWord = any = true
    } else if (cased.test(character)) {
      if (!inWord) return false
      any = true
    } else inWord = false
  }
  return any
}

function swapCase(text: string): string {
  let result = ""
  for (const character of text) {
    const lower = character.toLowerCase()
    result += lower === character ? character.toUpperCase() : lower
  }
  return result
}

/** Upper- or lower-case texts: at least one cased letter, and none of the other case. */
export function isUpper(text: string): boolean {
  return cased.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text)
}

export function isLower(text: string): boolean {
  return cased.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text)
}

function caseFold(text: string): string {
  return text.replaceAll("ß", "ss").replaceAll("ẞ", "ss").replaceAll("ς", "σ").toLowerCase().replaceAll("ς", "σ")
}

function expandTabs(text: string, size: number, runtime: Runtime): string {
  let column = 0
  let result = ""
  for (const character of text) {
    if (character === "\t") {
      const blanks = size > 0 ? size - (column % size) : 0
      result += " ".repeat(blanks)
      column += blanks
      runtime.budget.text(result.length)
    } else {
      result += character
      column = character === "\n" || character === "\r" ? 0 : column + 1
    }
  }
  return result
}

function zeroFill(text: string, width: number, runtime: Runtime): string {
  const missing = width - textLength(text)
  if (missing <= 0) return text
  runtime.budget.text(text.length + missing)
  const sign = /^[+-]/.test(text) ? text.slice(0, 1) : ""
  return sign + "0".repeat(missing) + text.slice(sign.length)
}

export function joinTexts(separator: string, parts: Value, runtime: Runtime): string {
  let text = ""
  let first = true
  for (const part of iterate(parts)) {
    text += (first ? "" : separator) + neededText("join", part)
    first = false
    runtime.budget.text(text.length)
  }
  return text
}

const matches = (name: string, pattern: RegExp): [string, TextMethod] => plain(name, (self) => pattern.test(self))

/** All but format and format_map, which look into their arguments. */
export const textMethods: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  strip("strip", (self, characters) => stripEnd(stripStart(self, characters), characters)),
  strip("lstrip", stripStart),
  strip("rstrip", stripEnd),
  split("split", false),
  split("rsplit", true),
  edge("startswith"),
  edge("endswith"),
  find("find", false, false),
  find("rfind", true, false),
  find("index", false, true),
  find("rindex", true, true),
  partition("partition", false),
  partition("rpartition", true),
  justify("ljust", () => 0),
  justify("rjust", (missing) => missing),
  justify("center", centerLeft),
  plain("upper", (self) => self.toUpperCase()),
  plain("lower", (self) => self.toLowerCase()),
  plain("casefold", caseFold),
  plain("swapcase", swapCase),
  plain("capitalize", capitalize),
  plain("title", titleCase),
  plain("isspace", isSpace),
  plain("isupper", isUpper),
  plain("islower", isLower),
  plain("istitle", isTitle),
  matches("isalpha", /^\p{L}+$/u),
  matches("isdecimal", /^\p{Nd}+$/u),
  matches(
    "isdigit",
    /^[\p{Nd}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089\u2460-\u2468\u2474-\u247c\u2488-\u2490]+$/u,
  ),
  matches("isnumeric", /^\p{N}+$/u),
  matches("isalnum", /^[\p{L}\p{N}]+$/u),
  matches("isascii", /^\p{ASCII}*$/u),
  matches("isidentifier", /^[\p{ID_Start}_][\p{ID_Continue}]*$/u),
  matches("isprintable", /^[^\p{C}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]*$/u),
  [
    "replace",
    (self, args, runtime) => {
      const [old, replacement, count] = args.positionalOnly("replace", 2, 3)
      const times = count === undefined ? -1 : neededInteger("replace", count)
      return replaceText(self, neededText("replace", old), neededText("replace", replacement), times, runtime)
    },
  ],
  [
    "count",
    (self, args) => {
      const [wanted, start, stop] = args.positionalOnly("count", 1, 3)
      const part = window(self, start, stop)
      return part === undefined ? 0n : BigInt(occurrences(part.text, neededText("count", wanted)))
    },
  ],
  [
    "join",
    (self, args, runtime) => {
      const [parts = null] = args.positionalOnly("join", 1, 1)
      return joinTexts(self, parts, runtime)
    },
  ],
  [
    "splitlines",
    (self, args, runtime) => {
      const [keepEnds = false] = args.bind("splitlines", ["keepends"])
      const lines = splitLines(self, isTrue(keepEnds))
      runtime.budget.list(lines.length)
      return lines
    },
  ],
  [
    "expandtabs",
    (self, args, runtime) => {
      const [size] = args.bind("expandtabs", ["tabsize"])
      return expandTabs(self, size === undefined ? 8 : neededInteger("expandtabs", size), runtime)
    },
  ],
  [
    "zfill",
    (self, args, runtime) => {
      const [width] = args.positionalOnly("zfill", 1, 1)
      return zeroFill(self, neededInteger("zfill", width), runtime)
    },
  ],
  [
    "removeprefix",
    (self, args) => {
      const [value] = args.positionalOnly("removeprefix", 1, 1)
      const prefix = neededText("removeprefix", value)
      return self.startsWith(prefix) ? self.slice(prefix.length) : self
    },
  ],
  [
    "removesuffix",
    (self, args) => {
      const [value] = args.positionalOnly("removesuffix", 1, 1)
      const suffix = neededText("removesuffix", value)
      return suffix !== "" && self.endsWith(suffix) ? self.slice(0, -suffix.length) : self
    },
  ],
])
