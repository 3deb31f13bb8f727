// What stands after `is`.
import type { Runtime } from "../runtime.ts"
import { typeError } from "../values/errors.ts"
import { iterable, lengthOf } from "../values/iterate.ts"
import { contains, equals, isNumber, modulo, ordered, type Ordering } from "../values/operators.ts"
import { toText } from "../values/show.ts"
import { isLower, isUpper } from "../values/str-methods.ts"
import {
  asText,
  Callable,
  Dict,
  Markup,
  PythonObject,
  Range,
  Tuple,
  Undefined,
  type Arguments,
  type Value,
} from "../values/value.ts"
import { filterNames } from "./filter-names.ts"

export type Test = (value: Value, args: Arguments, runtime: Runtime) => boolean

function simple(name: string, holds: (value: Value, runtime: Runtime) => boolean): [string, Test] {
  return [
    name,
    (value, args, runtime) => {
      args.bind(name, [])
      return holds(value, runtime)
    },
  ]
}

function withOther(
  names: readonly string[],
  holds: (value: Value, other: Value, runtime: Runtime) => boolean,
): [string, Test][] {
  return names.map((name) => [
    name,
    (value, args, runtime) => {
      const [other = null] = args.bind(name, ["other"], 1)
      return holds(value, other, runtime)
    },
  ])
}

const comparison = (names: readonly string[], operator: Ordering): [string, Test][] =>
  withOther(names, (value, other, runtime) => ordered(value, other, operator, runtime))

const isInteger = (value: Value): boolean => typeof value === "bigint"

function isSequence(value: Value): boolean {
  return (
    Array.isArray(value) ||
    value instanceof Tuple ||
    value instanceof Dict ||
    value instanceof Range ||
    value instanceof Undefined ||
    asText(value) !== undefined
  )
}

function isSame(value: Value, other: Value): boolean {
  return Object.is(value, other)
}

const remainderIs =
  (wanted: bigint) =>
  (value: Value, runtime: Runtime): boolean =>
    equals(modulo(value, 2n, runtime), wanted, runtime)

export const tests: ReadonlyMap<string, Test> = new Map<string, Test>([
  simple("defined", (value) => !(value instanceof Undefined)),
  simple("undefined", (value) => value instanceof Undefined),
  simple("none", (value) => value === null),
  simple("boolean", (value) => typeof value === "boolean"),
  simple("true", (value) => value === true),
  simple("false", (value) => value === false),
  simple("integer", isInteger),
  simple("float", (value) => typeof value === "number"),
  simple("number", isNumber),
  simple("string", (value) => asText(value) !== undefined),
  simple("mapping", (value) => value instanceof Dict),
  simple("sequence", isSequence),
  simple("iterable", (value) => iterable(value) !== undefined || isLoop(value)),
  simple("callable", (value) => value instanceof Callable || value instanceof Undefined),
  simple("escaped", (value) => value instanceof Markup),
  simple("lower", (value, runtime) => isLower(toText(value, runtime))),
  simple("upper", (value, runtime) => isUpper(toText(value, runtime))),
  simple("odd", remainderIs(1n)),
  simple("even", remainderIs(0n)),
  simple("filter", (value) => nameIn(value, filterNames)),
  simple("test", (value) => nameIn(value, testNames())),
  [
    "divisibleby",
    (value, args, runtime) => {
      const [divisor = null] = args.bind("divisibleby", ["num"], 1)
      return equals(modulo(value, divisor, runtime), 0n, runtime)
    },
  ],
  ...withOther(["sameas"], isSame),
  ...withOther(["in"], (value, container, runtime) => contains(container, value, runtime)),
  ...withOther(["eq", "equalto", "=="], equals),
  ...withOther(["ne", "!="], (value, other, runtime) => !equals(value, other, runtime)),
  ...comparison(["lt", "lessthan", "<"], "<"),
  ...comparison(["le", "<="], "<="),
  ...comparison(["gt", "greaterthan", ">"], ">"),
  ...comparison(["ge", ">="], ">="),
])

function testNames(): ReadonlySet<string> {
  return new Set(tests.keys())
}

function nameIn(value: Value, names: ReadonlySet<string>): boolean {
  const name = asText(value)
  if (name === undefined && (Array.isArray(value) || value instanceof Dict)) throw typeError("unhashable type")
  return name !== undefined && names.has(name)
}

function isLoop(value: Value): boolean {
  return value instanceof PythonObject && value.typeName === "LoopContext" && lengthOf(value) !== undefined
}
