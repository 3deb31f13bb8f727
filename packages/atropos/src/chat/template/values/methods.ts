// Methods of list, tuple, dict and numbers that the immutable sandbox allows.
import type { Runtime } from "../runtime.ts"
import { valueError } from "./errors.ts"
import { iterate } from "./iterate.ts"
import { exactFraction } from "./numbers.ts"
import { equals } from "./operators.ts"
import { asInteger, Callable, Dict, DictView, Tuple, type Arguments, type Value, type ViewKind } from "./value.ts"

type Method<T> = (self: T, args: Arguments, runtime: Runtime) => Value

export const unsafeListMethods: ReadonlySet<string> = new Set(
  "append clear pop reverse insert sort extend remove".split(" "),
)
export const unsafeDictMethods: ReadonlySet<string> = new Set("clear pop popitem setdefault update".split(" "))

const sequenceMethods: readonly (readonly [string, Method<readonly Value[]>])[] = [
  [
    "index",
    (items, args, runtime) => {
      const [wanted = null, start, stop] = args.positionalOnly("index", 1, 3)
      const from = bound(start, 0, items.length)
      const to = bound(stop, items.length, items.length)
      for (let i = from; i < to; i += 1) if (equals(items[i] ?? null, wanted, runtime)) return BigInt(i)
      throw valueError("the value is not in the list")
    },
  ],
  [
    "count",
    (items, args, runtime) => {
      const [wanted = null] = args.positionalOnly("count", 1, 1)
      return BigInt(items.filter((item) => equals(item, wanted, runtime)).length)
    },
  ],
]

function bound(value: Value | undefined, absent: number, length: number): number {
  const index = asInteger(value)
  if (index === undefined) return absent
  return Number(index < 0n ? index + BigInt(length) : index)
}

export const tupleMethods: ReadonlyMap<string, Method<readonly Value[]>> = new Map(sequenceMethods)

export const listMethods: ReadonlyMap<string, Method<readonly Value[]>> = new Map([
  ...sequenceMethods,
  [
    "copy",
    (items, args) => {
      args.positionalOnly("copy", 0, 0)
      return [...items]
    },
  ],
])

function view(kind: ViewKind): Method<Dict> {
  return (dict, args) => {
    args.positionalOnly(kind, 0, 0)
    return new DictView(kind, dict)
  }
}

export const dictMethods: ReadonlyMap<string, Method<Dict>> = new Map<string, Method<Dict>>([
  ["keys", view("dict_keys")],
  ["values", view("dict_values")],
  ["items", view("dict_items")],
  [
    "get",
    (dict, args) => {
      const [key = null, otherwise = null] = args.positionalOnly("get", 1, 2)
      const found = dict.get(key)
      return found === undefined ? otherwise : found
    },
  ],
  [
    "copy",
    (dict, args) => {
      args.positionalOnly("copy", 0, 0)
      return Dict.of(dict.entries())
    },
  ],
  [
    "fromkeys",
    (_dict, args) => {
      const [keys = null, value = null] = args.positionalOnly("fromkeys", 1, 2)
      return Dict.of([...iterate(keys)].map((key) => [key, value]))
    },
  ],
])

/** Attributes of int, bool and float. */
export function numberAttributes(value: Value, name: string): Value | undefined {
  const constant = (result: Value): Callable =>
    new Callable(name, (args) => {
      args.positionalOnly(name, 0, 0)
      return result
    })
  const integer = asInteger(value)
  if (name === "real" || name === "conjugate") {
    const real = integer ?? value
    return name === "real" ? real : constant(real)
  }
  if (name === "imag") return integer === undefined ? 0 : 0n
  if (integer !== undefined) {
    const magnitude = integer < 0n ? -integer : integer
    if (name === "numerator") return integer
    if (name === "denominator") return 1n
    if (name === "bit_length") return constant(magnitude === 0n ? 0n : BigInt(magnitude.toString(2).length))
    if (name === "bit_count") return constant(BigInt(magnitude.toString(2).replaceAll("0", "").length))
    if (name === "as_integer_ratio") return constant(new Tuple([integer, 1n]))
    return undefined
  }
  if (typeof value !== "number") return undefined
  if (name === "is_integer") return constant(Number.isInteger(value))
  if (name === "as_integer_ratio" && Number.isFinite(value)) {
    const { numerator, denominator } = exactFraction(value)
    return constant(new Tuple([numerator, denominator]))
  }
  return undefined
}
