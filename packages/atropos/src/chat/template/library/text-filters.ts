import type { Runtime } from "../runtime.ts"
import { TemplateFailure, typeError, valueError } from "../values/errors.ts"
import { isTrue, iterate, lengthOf } from "../values/iterate.ts"
import { escapeMarkup, stripTags } from "../values/markup.ts"
import { percentFormat } from "../values/percent-format.ts"
import { toText } from "../values/show.ts"
import { capitalize, centerLeft, padded, replaceText } from "../values/str-methods.ts"
import { splitLines, stripEnd, stripStart, textLength, unitOffset } from "../values/text.ts"
import { asText, Dict, Markup, Tuple, typeName, Undefined, type Value } from "../values/value.ts"
import { integerArgument, textArgument, type Filter } from "./arguments.ts"
import { dumpJson } from "./json-dumps.ts"

/** A filter that turns any value's text into another; HTML stays HTML. */
function onText(name: string, apply: (text: string, runtime: Runtime) => string): [string, Filter] {
  return [
    name,
    (input, args, runtime) => {
      args.bind(name, [])
      const result = apply(toText(input, runtime), runtime)
      return input instanceof Markup ? new Markup(result) : result
    },
  ]
}

function like(input: Value, text: string): Value {
  return input instanceof Markup ? new Markup(text) : text
}

function neededText(name: string, input: Value): string {
  const text = asText(input)
  if (text === undefined) {
    if (input instanceof Undefined) throw input.fail()
    throw typeError(`${name} wants a str, not ${typeName(input)}`)
  }
  return text
}

/** Words start after blanks, hyphens and opening brackets only. */
function titleWords(text: string): string {
  return text
    .split(/([-\s({[<]+)/)
    .map((part) => {
      const [first = "", ...rest] = part
      return first.toUpperCase() + rest.join("").toLowerCase()
    })
    .join("")
}

const indent: Filter = (input, args, runtime) => {
  const [width = 4n, first = false, blank = false] = args.bind("indent", ["width", "first", "blank"])
  const text = `${neededText("indent", input)}\n`
  const indentation = asText(width) ?? " ".repeat(Math.max(0, integerArgument("indent", width, 4)))
  const lines = splitLines(text)
  runtime.budget.text(text.length + lines.length * indentation.length)
  const [head = "", ...tail] = lines
  const rest = tail.map((line) => `\n${isTrue(blank) || line !== "" ? indentation + line : line}`)
  const result = head + rest.join("")
  return like(input, isTrue(first) ? indentation + result : result)
}

const truncate: Filter = (input, args) => {
  const [lengthValue, killWords = false, endValue, leewayValue] = args.bind("truncate", [
    "length",
    "killwords",
    "end",
    "leeway",
  ])
  const length = integerArgument("truncate", lengthValue, 255)
  const end = textArgument("truncate", endValue, "...")
  const leeway = leewayValue === null ? 5 : integerArgument("truncate", leewayValue, 5)
  if (length < textLength(end) || leeway < 0) throw valueError("truncate: the length has no room for the end mark")
  if ((lengthOf(input) ?? Number.POSITIVE_INFINITY) <= length + leeway) return input
  const text = neededText("truncate", input)
  const cut = text.slice(0, unitOffset(text, length - textLength(end)))
  if (isTrue(killWords)) return cut + end
  const space = cut.lastIndexOf(" ")
  return (space < 0 ? cut : cut.slice(0, space)) + end
}

const toJson: Filter = (input, args, runtime) => {
  const [ascii = false, indentValue = null, separators = null, sortKeys = false] = args.bind("tojson", [
    "ensure_ascii",
    "indent",
    "separators",
    "sort_keys",
  ])
  const level = asText(indentValue) ?? indentText(indentValue)
  const [item, key] = separators === null ? [] : [...iterate(separators)]
  return dumpJson(
    input,
    {
      ensureAscii: isTrue(ascii),
      indent: level,
      itemSeparator: textArgument("tojson", item, level === undefined ? ", " : ","),
      keySeparator: textArgument("tojson", key, ": "),
      sortKeys: isTrue(sortKeys),
    },
    runtime,
  )
}

function indentText(value: Value): string | undefined {
  if (value === null) return undefined
  return " ".repeat(Math.min(1 << 16, Math.max(0, integerArgument("tojson", value, 0))))
}

const unreserved = /[A-Za-z0-9_.~/-]/

function quoteUrl(text: string, forQuery: boolean): string {
  let result = ""
  for (const byte of new TextEncoder().encode(text)) {
    const character = String.fromCharCode(byte)
    if (byte < 0x80 && unreserved.test(character) && !(forQuery && character === "/")) result += character
    else if (forQuery && character === " ") result += "+"
    else result += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  }
  return result
}

const urlEncode: Filter = (input, args, runtime) => {
  args.bind("urlencode", [])
  const text = asText(input)
  if (text !== undefined) return quoteUrl(text, false)
  if (!(Array.isArray(input) || input instanceof Dict || input instanceof Tuple))
    return quoteUrl(toText(input, runtime), false)
  const pairs: readonly (readonly Value[])[] =
    input instanceof Dict ? [...input.entries()] : [...iterate(input)].map((pair) => [...iterate(pair)])
  return pairs
    .map(([key, value, ...more]) => {
      if (key === undefined || value === undefined || more.length > 0) throw valueError("urlencode wants pairs")
      return `${quoteUrl(toText(key, runtime), true)}=${quoteUrl(toText(value, runtime), true)}`
    })
    .join("&")
}

const xmlAttributes: Filter = (input, args, runtime) => {
  const [autospace = true] = args.bind("xmlattr", ["autospace"])
  if (!(input instanceof Dict)) throw typeError("xmlattr wants a dict")
  const parts: string[] = []
  for (const [key, value] of input.entries()) {
    if (value === null || value instanceof Undefined) continue
    const name = neededText("xmlattr", key)
    if (/[ \t\n\r\f\v/>=]/.test(name)) throw valueError("Invalid character in attribute name")
    const text = value instanceof Markup ? value.text : escapeMarkup(toText(value, runtime))
    parts.push(`${escapeMarkup(name)}="${text}"`)
  }
  const result = parts.join(" ")
  return isTrue(autospace) && result !== "" ? ` ${result}` : result
}

export const textFilters: readonly (readonly [string, Filter])[] = [
  onText("upper", (text) => text.toUpperCase()),
  onText("lower", (text) => text.toLowerCase()),
  onText("capitalize", capitalize),
  onText("title", titleWords),
  [
    "string",
    (input, args, runtime) => {
      args.bind("string", [])
      return input instanceof Markup ? input : toText(input, runtime)
    },
  ],
  [
    "trim",
    (input, args, runtime) => {
      const [value] = args.bind("trim", ["chars"])
      const characters = value === null ? undefined : value === undefined ? undefined : textArgument("trim", value, "")
      return like(input, stripEnd(stripStart(toText(input, runtime), characters), characters))
    },
  ],
  [
    "replace",
    (input, args, runtime) => {
      const [old = null, replacement = null, count] = args.bind("replace", ["old", "new", "count"], 2)
      const times = count === null ? -1 : integerArgument("replace", count, -1)
      return replaceText(toText(input, runtime), toText(old, runtime), toText(replacement, runtime), times, runtime)
    },
  ],
  [
    "center",
    (input, args, runtime) => {
      const [width] = args.bind("center", ["width"])
      const text = toText(input, runtime)
      return like(input, padded(text, integerArgument("center", width, 80), " ", centerLeft, runtime))
    },
  ],
  ["indent", indent],
  ["truncate", truncate],
  [
    "wordcount",
    (input, args, runtime) => {
      args.bind("wordcount", [])
      return BigInt([...toText(input, runtime).matchAll(/[\p{L}\p{N}_]+/gu)].length)
    },
  ],
  [
    "format",
    (input, args, runtime) => {
      if (args.positional.length > 0 && args.named.size > 0)
        throw new TemplateFailure("TemplateError", "can't handle positional and keyword arguments at the same time")
      const values = args.named.size > 0 ? Dict.of(args.named) : new Tuple(args.positional)
      return like(input, percentFormat(toText(input, runtime), values, runtime))
    },
  ],
  [
    "striptags",
    (input, args, runtime) => {
      args.bind("striptags", [])
      return stripTags(toText(input, runtime))
    },
  ],
  ["urlencode", urlEncode],
  ["xmlattr", xmlAttributes],
  ["tojson", toJson],
  ...["escape", "e"].map((name): [string, Filter] => [
    name,
    (input, args, runtime) => {
      args.bind(name, [])
      return input instanceof Markup ? input : new Markup(escapeMarkup(toText(input, runtime)))
    },
  ]),
  [
    "forceescape",
    (input, args, runtime) => {
      args.bind("forceescape", [])
      return new Markup(escapeMarkup(toText(input, runtime)))
    },
  ],
  [
    "safe",
    (input, args, runtime) => {
      args.bind("safe", [])
      return new Markup(toText(input, runtime))
    },
  ],
]
