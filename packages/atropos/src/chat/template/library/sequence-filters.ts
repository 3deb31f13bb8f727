import type { Runtime } from "../runtime.ts"
import { getAttribute } from "../values/attributes.ts"
import { TemplateFailure, typeError } from "../values/errors.ts"
import { isTrue, iterable, iterate, lengthOf, toList } from "../values/iterate.ts"
import { add, compare, equals } from "../values/operators.ts"
import { escaped } from "../values/markup-text.ts"
import { toText } from "../values/show.ts"
import { codePoints } from "../values/text.ts"
import {
  Arguments,
  asText,
  Dict,
  DictView,
  hashable,
  Markup,
  PythonIterator,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "../values/value.ts"
import { attributeGetter, ignoreCase, integerArgument, type Filter, type Getter } from "./arguments.ts"
import type { Test } from "./tests.ts"

/** What map, select and their like look names up in. */
export interface Registry {
  filter(name: string): Filter | undefined
  test(name: string): Test | undefined
}

function argumentError(message: string): TemplateFailure {
  return new TemplateFailure("TemplateError", message)
}

/** Lets a getter, or the given function, decide on each element; results come one by one. */
function lazily(items: Value, each: (item: Value) => Iterable<Value>, runtime: Runtime): PythonIterator {
  const run = function* (): IterableIterator<Value> {
    if (!isTrue(items)) return
    for (const item of iterate(items)) {
      runtime.budget.spend(1)
      yield* each(item)
    }
  }
  return new PythonIterator(run())
}

function map(registry: Registry): Filter {
  return (input, args, runtime) => {
    let prepared: Getter | undefined
    const prepare = (): Getter => {
      if (args.positional.length === 0 && args.named.has("attribute")) {
        const rest = [...args.named.keys()].filter((name) => name !== "attribute" && name !== "default")
        if (rest.length > 0) throw argumentError(`Unexpected keyword argument '${rest[0] ?? ""}'`)
        return attributeGetter(args.named.get("attribute"), runtime, args.named.get("default"))
      }
      const [name, ...positional] = args.positional
      if (name === undefined) throw argumentError("map requires a filter argument")
      const filter = registry.filter(asText(name) ?? "")
      if (filter === undefined) throw argumentError("map was given no filter's name")
      return (item) => filter(item, new Arguments(positional, args.named), runtime)
    }
    return lazily(
      input,
      (item) => {
        prepared ??= prepare()
        return [prepared(item)]
      },
      runtime,
    )
  }
}

function pick(registry: Registry, keepWhen: boolean, byAttribute: boolean): Filter {
  return (input, args, runtime) => {
    const prepare = (): ((item: Value) => boolean) => {
      const [first, ...others] = args.positional
      if (byAttribute && first === undefined) throw argumentError("Missing parameter for attribute name")
      const getter = byAttribute ? attributeGetter(first, runtime) : (item: Value): Value => item
      const [name, ...positional] = byAttribute ? others : args.positional
      if (name === undefined) return (item) => isTrue(getter(item)) === keepWhen
      const test = registry.test(asText(name) ?? "")
      if (test === undefined) throw argumentError("select was given no test's name")
      return (item) => test(getter(item), new Arguments(positional, args.named), runtime) === keepWhen
    }
    let keeps: ((item: Value) => boolean) | undefined
    return lazily(
      input,
      (item) => {
        keeps ??= prepare()
        return keeps(item) ? [item] : []
      },
      runtime,
    )
  }
}

/** sorted(items, key, reverse): stable both ways. */
function sorted(items: readonly Value[], key: Getter, reverse: boolean, runtime: Runtime): Value[] {
  const keyed = items.map((item) => ({ item, key: key(item) }))
  runtime.budget.spend(items.length * 8)
  keyed.sort((a, b) => {
    const order = compare(a.key, b.key, "<", runtime)
    return reverse ? -order : order
  })
  return keyed.map(({ item }) => item)
}

const sort: Filter = (input, args, runtime) => {
  const [reverse = false, caseSensitive = false, attribute = null] = args.bind("sort", [
    "reverse",
    "case_sensitive",
    "attribute",
  ])
  const names = asText(attribute)?.split(",") ?? [attribute]
  const getters = names.map((name) => attributeGetter(name, runtime))
  const fold = isTrue(caseSensitive) ? (value: Value): Value => value : ignoreCase
  const key: Getter = (item) => getters.map((getter) => fold(getter(item)))
  return sorted(toList(input, runtime), key, isTrue(reverse), runtime)
}

const dictSort: Filter = (input, args, runtime) => {
  const [caseSensitive = false, by = "key", reverse = false] = args.bind("dictsort", [
    "case_sensitive",
    "by",
    "reverse",
  ])
  const part = asText(by)
  if (part !== "key" && part !== "value") throw argumentError('You can only sort by either "key" or "value"')
  if (!(input instanceof Dict)) throw noMapping(input)
  const fold = isTrue(caseSensitive) ? (value: Value): Value => value : ignoreCase
  const pairs = [...input.entries()].map((pair) => new Tuple(pair))
  const key: Getter = (pair) => (pair instanceof Tuple ? fold(pair.items[part === "key" ? 0 : 1] ?? null) : pair)
  return sorted(pairs, key, isTrue(reverse), runtime)
}

function noMapping(input: Value): TemplateFailure {
  return input instanceof Undefined ? input.fail() : typeError(`'${typeName(input)}' object has no attribute 'items'`)
}

class Group extends Tuple {
  override attribute(name: string): Value | undefined {
    return name === "grouper" ? this.items[0] : name === "list" ? this.items[1] : undefined
  }
}

const groupBy: Filter = (input, args, runtime) => {
  const [attribute, standard, caseSensitive = false] = args.bind(
    "groupby",
    ["attribute", "default", "case_sensitive"],
    1,
  )
  const getter = attributeGetter(attribute, runtime, standard)
  const key: Getter = isTrue(caseSensitive) ? getter : (item) => ignoreCase(getter(item))
  const groups: { key: Value; items: Value[] }[] = []
  for (const item of sorted(toList(input, runtime), key, false, runtime)) {
    const last = groups.at(-1)
    if (last !== undefined && equals(last.key, key(item), runtime)) last.items.push(item)
    else groups.push({ key: key(item), items: [item] })
  }
  return groups.map(({ items }) => new Group([getter(items[0] ?? null), items]))
}

const unique: Filter = (input, args, runtime) => {
  const [caseSensitive = false, attribute] = args.bind("unique", ["case_sensitive", "attribute"])
  const getter = attributeGetter(attribute, runtime)
  const seen = new Set<unknown>()
  const run = function* (): IterableIterator<Value> {
    for (const item of iterate(input)) {
      const value = getter(item)
      const key = hashable(isTrue(caseSensitive) ? value : ignoreCase(value))
      if (seen.has(key)) continue
      seen.add(key)
      yield item
    }
  }
  return new PythonIterator(run())
}

function extreme(name: "min" | "max"): Filter {
  return (input, args, runtime) => {
    const [caseSensitive = false, attribute] = args.bind(name, ["case_sensitive", "attribute"])
    const getter = attributeGetter(attribute, runtime)
    const key: Getter = isTrue(caseSensitive) ? getter : (item) => ignoreCase(getter(item))
    let best: { item: Value; key: Value } | undefined
    for (const item of iterate(input)) {
      const candidate = { item, key: key(item) }
      const order = best === undefined ? 0 : compare(candidate.key, best.key, name === "min" ? "<" : ">", runtime)
      if (best === undefined || (name === "min" ? order < 0 : order > 0)) best = candidate
    }
    return best === undefined ? new Undefined("No aggregated item, sequence was empty.") : best.item
  }
}

const sum: Filter = (input, args, runtime) => {
  const [attribute = null, start = 0n] = args.bind("sum", ["attribute", "start"])
  if (asText(start) !== undefined) throw typeError("sum() can't sum strings")
  const getter = attributeGetter(attribute, runtime)
  let total = start
  for (const item of iterate(input)) total = add(total, getter(item), runtime)
  return total
}

const join: Filter = (input, args, runtime) => {
  const [separator = "", attribute] = args.bind("join", ["d", "attribute"])
  const getter = attributeGetter(attribute, runtime)
  if (runtime.autoescape) return joinEscaping(toList(input, runtime).map(getter), separator, runtime)
  const between = toText(separator, runtime)
  let text = ""
  let first = true
  for (const item of iterate(input)) {
    text += (first ? "" : between) + toText(getter(item), runtime)
    first = false
    runtime.budget.text(text.length)
  }
  return text
}

/** Where escaping is on: HTML text as soon as one part is. */
function joinEscaping(items: readonly Value[], separator: Value, runtime: Runtime): Value {
  const html = [separator, ...items].some((value) => value instanceof Markup)
  const write = (value: Value): string => (html ? escaped(value, runtime) : toText(value, runtime))
  const text = items.map(write).join(write(separator))
  runtime.budget.text(text.length)
  return html ? new Markup(text) : text
}

const reverse: Filter = (input, args, runtime) => {
  args.bind("reverse", [])
  const text = asText(input)
  if (text !== undefined) {
    const turned = Array.from(codePoints(text)).toReversed().join("")
    return input instanceof Markup ? new Markup(turned) : turned
  }
  const items = iterable(input)
  if (items === undefined) throw argumentError("argument must be iterable")
  const turned = toList(input, runtime).toReversed()
  return isReversible(input) ? new PythonIterator(turned.values(), "reversed") : turned
}

function isReversible(value: Value): boolean {
  return (
    Array.isArray(value) ||
    value instanceof Tuple ||
    value instanceof Dict ||
    value instanceof DictView ||
    value instanceof Range
  )
}

const last: Filter = (input, args, runtime) => {
  args.bind("last", [])
  const text = asText(input)
  if (text === undefined && !isReversible(input)) {
    // Python asks an undefined value for its length and elements by number: it is empty.
    if (input instanceof Undefined) return new Undefined("No last item, sequence was empty.")
    throw typeError(`'${typeName(input)}' object is not reversible`)
  }
  const found = toList(input, runtime).at(-1)
  if (input instanceof Markup && typeof found === "string") return new Markup(found)
  return found === undefined ? new Undefined("No last item, sequence was empty.") : found
}

const batch: Filter = (input, args, runtime) => {
  const [count, fill = null] = args.bind("batch", ["linecount", "fill_with"], 1)
  const size = integerArgument("batch", count, 1)
  const items = toList(input, runtime)
  const rows: Value[][] = []
  let row: Value[] = []
  for (const item of items) {
    if (row.length === size) {
      rows.push(row)
      row = []
    }
    row.push(item)
  }
  if (row.length > 0) {
    if (fill !== null) {
      runtime.budget.list(size)
      while (row.length < size) row.push(fill)
    }
    rows.push(row)
  }
  return new PythonIterator(rows.values())
}

const slice: Filter = (input, args, runtime) => {
  const [count, fill = null] = args.bind("slice", ["slices", "fill_with"], 1)
  const slices = integerArgument("slice", count, 1)
  const items = toList(input, runtime)
  if (slices === 0) throw new TemplateFailure("ZeroDivisionError", "integer division or modulo by zero")
  runtime.budget.list(Math.max(0, slices))
  const each = Math.floor(items.length / slices)
  const extra = items.length % slices
  const columns: Value[][] = []
  let start = 0
  for (let index = 0; index < slices; index += 1) {
    const end = start + each + (index < extra ? 1 : 0)
    const column = items.slice(start, end)
    if (fill !== null && index >= extra) column.push(fill)
    columns.push(column)
    start = end
  }
  return new PythonIterator(columns.values())
}

export function sequenceFilters(registry: Registry): readonly (readonly [string, Filter])[] {
  const length: Filter = (input, args) => {
    args.bind("length", [])
    const found = lengthOf(input)
    if (found === undefined) throw typeError(`object of type '${typeName(input)}' has no len()`)
    return BigInt(found)
  }
  return [
    ["map", map(registry)],
    ["select", pick(registry, true, false)],
    ["reject", pick(registry, false, false)],
    ["selectattr", pick(registry, true, true)],
    ["rejectattr", pick(registry, false, true)],
    ["length", length],
    ["count", length],
    ["sort", sort],
    ["dictsort", dictSort],
    ["groupby", groupBy],
    ["unique", unique],
    ["min", extreme("min")],
    ["max", extreme("max")],
    ["sum", sum],
    ["join", join],
    ["reverse", reverse],
    ["last", last],
    ["batch", batch],
    ["slice", slice],
    [
      "first",
      (input, args) => {
        args.bind("first", [])
        for (const item of iterate(input)) return item
        return new Undefined("No first item, sequence was empty.")
      },
    ],
    [
      "list",
      (input, args, runtime) => {
        args.bind("list", [])
        return toList(input, runtime)
      },
    ],
    [
      "items",
      (input, args) => {
        args.bind("items", [])
        const run = function* (): IterableIterator<Value> {
          if (input instanceof Undefined) return
          if (!(input instanceof Dict)) throw typeError("Can only get item pairs from a mapping.")
          for (const entry of input.entries()) yield new Tuple(entry)
        }
        return new PythonIterator(run())
      },
    ],
    [
      "attr",
      (input, args, runtime) => {
        const [name = null] = args.bind("attr", ["name"], 1)
        const text = asText(name)
        if (text === undefined) throw typeError("attr wants a str")
        const isElement = input instanceof Dict && input.has(text)
        const found = getAttribute(input, text, runtime)
        return isElement && found === input.get(text) ? new Undefined(`no attribute '${text}'`) : found
      },
    ],
  ]
}
