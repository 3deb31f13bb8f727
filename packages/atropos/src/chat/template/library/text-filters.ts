import type { Runtime } from "../runtime.ts"
import { TemplateFailure, typeError, valueError } from "../values/errors.ts"
import { isTrue, iterable, iterate, lengthOf } from "../values/iterate.ts"
import { escapeMarkup, stripTags } from "../values/markup.ts"
import { percentFormat } from "../values/percent-format.ts"
import { toText } from "../values/show.ts"
import { capitalize, centerLeft, padded, replaceText } from "../values/str-methods.ts"
import { escaped } from "../values/markup-text.ts"
import { compareTexts, splitAtSpace, splitLines, stripEnd, stripStart, textLength, unitOffset } from "../values/text.ts"
import { asText, Dict, Markup, Tuple, typeName, Undefined, type Value } from "../values/value.ts"
import { integerArgument, textArgument, type Filter } from "./arguments.ts"
import { dumpJson } from "./json-dumps.ts"
import { prettyPrint } from "./pretty-print.ts"
import { urlize } from "./urlize.ts"
import { wrapLine } from "./word-wrap.ts"

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

const truncate: Filter = (input, args, runtime) => {
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
  const space = isTrue(killWords) ? -1 : cut.lastIndexOf(" ")
  const kept = space < 0 ? cut : cut.slice(0, space)
  return input instanceof Markup ? new Markup(kept + escaped(endValue ?? end, runtime)) : kept + end
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
  if (iterable(input) === undefined) return quoteUrl(toText(input, runtime), false)
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
    parts.push(`${escaped(key, runtime)}="${escaped(value, runtime)}"`)
  }
  const attributes = parts.join(" ")
  const result = isTrue(autospace) && attributes !== "" ? ` ${attributes}` : attributes
  return runtime.autoescape ? new Markup(result) : result
}

const wordWrap: Filter = (input, args, runtime) => {
  const [width, breakLongWords = true, separator = null, breakOnHyphens = true] = args.bind("wordwrap", [
    "width",
    "break_long_words",
    "wrapstring",
    "break_on_hyphens",
  ])
  const options = {
    width: typeof width === "number" ? width : integerArgument("wordwrap", width, 79),
    isWhole: typeof width !== "number",
    breakLongWords: isTrue(breakLongWords),
    breakOnHyphens: isTrue(breakOnHyphens),
  }
  const between = separator ?? "\n"
  const wrapString = textArgument("wordwrap", between, "")
  const paragraphs = splitLines(neededText("wordwrap", input)).map((line) => wrapLine(line, options, runtime.budget))
  // An HTML separator is put between lines as HTML text: twice, as it joins lines and then paragraphs.
  const lines = (parts: readonly string[]): string =>
    (between instanceof Markup ? parts.map(escapeMarkup) : parts).join(wrapString)
  const text = paragraphs.map(lines).join(wrapString)
  runtime.budget.text(text.length)
  return between instanceof Markup ? new Markup(text) : text
}

const urlizeFilter: Filter = (input, args, runtime) => {
  const [limit = null, noFollow = false, target = null, rel = null, schemes = null] = args.bind("urlize", [
    "trim_url_limit",
    "nofollow",
    "target",
    "rel",
    "extra_schemes",
  ])
  const relParts = new Set(splitAtSpace(textArgument("urlize", rel ?? "", "")))
  if (isTrue(noFollow)) relParts.add("nofollow")
  relParts.add("noopener")
  const extraSchemes = (schemes === null ? [] : [...iterate(schemes)]).map((scheme) => {
    const text = textArgument("urlize", scheme, "")
    if (!/^[\p{L}\p{N}_.+-]{2,}:\/{0,2}$/u.test(text))
      throw new TemplateFailure("TemplateError", "urlize got an extra scheme that is not a valid URI scheme prefix")
    return text
  })
  const html = urlize(escaped(input, runtime), {
    trimLimit: limit === null ? undefined : integerArgument("urlize", limit, 0),
    rel: [...relParts].toSorted(compareTexts).join(" "),
    target: target === null ? undefined : escaped(target, runtime),
    extraSchemes,
  })
  runtime.budget.text(html.length)
  return runtime.autoescape ? new Markup(html) : html
}

export const textFilters: readonly (readonly [string, Filter])[] = [
  onText("upper", (text) => text.toUpperCase()),
  onText("lower", (text) => text.toLowerCase()),
  onText("capitalize", capitalize),
  [
    "title",
    (input, args, runtime) => {
      args.bind("title", [])
      return titleWords(toText(input, runtime))
    },
  ],
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
      const isMarkup = [input, old, replacement].some((value) => value instanceof Markup)
      if (!runtime.autoescape || !isMarkup)
        return replaceText(toText(input, runtime), toText(old, runtime), toText(replacement, runtime), times, runtime)
      const html = escaped(input, runtime)
      return new Markup(replaceText(html, toText(old, runtime), escaped(replacement, runtime), times, runtime))
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
      return like(input, percentFormat(toText(input, runtime), values, runtime, input instanceof Markup))
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
  ["wordwrap", wordWrap],
  ["urlize", urlizeFilter],
  [
    "pprint",
    (input, args, runtime) => {
      args.bind("pprint", [])
      return prettyPrint(input, runtime)
    },
  ],
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
