// Expressions → closures.
import type { BinaryOperator, CallArguments, CompareOperator, Expression } from "../language/syntax.ts"
import { filters } from "../library/filters.ts"
import { templateGlobals } from "../library/globals.ts"
import { tests } from "../library/tests.ts"
import type { Runtime } from "../runtime.ts"
import { attributeReader, getItem, getSlice, itemReader, toCallable } from "../values/attributes.ts"
import { TemplateFailure, typeError } from "../values/errors.ts"
import { isTrue, iterate } from "../values/iterate.ts"
import {
  add,
  concatenate,
  contains,
  equals,
  floorDivision,
  joinMarkup,
  modulo,
  multiply,
  negate,
  ordered,
  positive,
  power,
  subtract,
  trueDivide,
} from "../values/operators.ts"
import { Arguments, Dict, Tuple, Undefined, type Value } from "../values/value.ts"
import { asCompiled, isKnownFilter, joinsMarkup, type Escaping } from "./escaping.ts"
import type { Evaluate, Frame } from "./frame.ts"

/** What the place of an expression decides when it is compiled. */
export interface ExpressionPlace {
  /**
   * `soft` code is not sure to run (a branch): there an unknown filter fails only when it is reached, elsewhere the
   * template does not compile.
   */
  soft: boolean
  escaping: Escaping
}

export function compileExpression(node: Expression, place: ExpressionPlace): Evaluate {
  switch (node.kind) {
    case "constant": {
      const { value } = node
      return () => value
    }
    case "name": {
      const { name } = node
      const otherwise = templateGlobals.get(name) ?? new Undefined(`'${name}' is undefined`)
      return ({ scope }) => {
        const value = scope.get(name)
        return value === undefined ? otherwise : value
      }
    }
    case "list": {
      const items = node.items.map((item) => compileExpression(item, place))
      return (frame) => items.map((item) => item(frame))
    }
    case "tuple": {
      const items = node.items.map((item) => compileExpression(item, place))
      return (frame) => new Tuple(items.map((item) => item(frame)))
    }
    case "dict": {
      const entries = node.entries.map(
        ([key, value]) => [compileExpression(key, place), compileExpression(value, place)] as const,
      )
      return (frame) => Dict.of(entries.map(([key, value]) => [key(frame), value(frame)] as const))
    }
    case "attribute": {
      const of = compileExpression(node.of, place)
      const read = attributeReader(node.name)
      return (frame) => read(of(frame), frame.runtime)
    }
    case "item": {
      const of = compileExpression(node.of, place)
      if (node.key.kind === "constant" && typeof node.key.value === "string") {
        const read = itemReader(node.key.value)
        return (frame) => read(of(frame), frame.runtime)
      }
      const key = compileExpression(node.key, place)
      return (frame) => getItem(of(frame), key(frame), frame.runtime)
    }
    case "slice":
      return compileSlice(node, place)
    case "call": {
      const callee = compileExpression(node.callee, place)
      const args = compileArguments(node.args, place)
      return (frame) => call(callee(frame), args(frame), frame.runtime)
    }
    case "filter": {
      const input = compileExpression(node.input, place)
      const apply = compileFilter(node, place)
      const run: Evaluate = (frame) => apply(input(frame), frame)
      return isKnownFilter(node, place.escaping) ? asCompiled(run, place.escaping) : run
    }
    case "test":
      return compileTest(node, place)
    case "unary": {
      const operand = compileExpression(node.operand, place)
      if (node.operator === "not") return (frame) => !isTrue(operand(frame))
      return node.operator === "-" ? (frame) => negate(operand(frame)) : (frame) => positive(operand(frame))
    }
    case "binary": {
      const left = compileExpression(node.left, place)
      const right = compileExpression(node.right, place)
      const operate = binaryOperators[node.operator]
      return (frame) => operate(left(frame), right(frame), frame.runtime)
    }
    case "and":
    case "or": {
      const left = compileExpression(node.left, place)
      const right = compileExpression(node.right, place)
      const stopsAt = node.kind === "or"
      return (frame) => {
        const value = left(frame)
        return isTrue(value) === stopsAt ? value : right(frame)
      }
    }
    case "compare":
      return compileCompare(node, place)
    case "concat": {
      const parts = node.parts.map((part) => compileExpression(part, place))
      const join = joinsMarkup(node.parts, place.escaping) ? joinMarkup : concatenate
      return (frame) =>
        join(
          parts.map((part) => part(frame)),
          frame.runtime,
        )
    }
    case "conditional": {
      const test = compileExpression(node.test, place)
      const whenTrue = compileExpression(node.whenTrue, { ...place, soft: true })
      const otherwise =
        node.otherwise === undefined ? undefined : compileExpression(node.otherwise, { ...place, soft: true })
      return (frame) => {
        if (isTrue(test(frame))) return whenTrue(frame)
        return otherwise === undefined
          ? new Undefined("an inline if without an else evaluated to false")
          : otherwise(frame)
      }
    }
  }
}

export function call(callee: Value, args: Arguments, runtime: Runtime): Value {
  const callable = toCallable(callee)
  runtime.budget.spend(1)
  return callable.call(args, runtime)
}

function compileSlice(node: Expression & { kind: "slice" }, place: ExpressionPlace): Evaluate {
  const part = (bound: Expression | undefined): Evaluate =>
    bound === undefined ? () => null : compileExpression(bound, place)
  const of = compileExpression(node.of, place)
  const [start, stop, step] = [part(node.start), part(node.stop), part(node.step)]
  return (frame) => getSlice(of(frame), start(frame), stop(frame), step(frame), frame.runtime)
}

export function compileArguments(args: CallArguments, place: ExpressionPlace): (frame: Frame) => Arguments {
  const positional = args.positional.map((value) => compileExpression(value, place))
  const named = args.named.map(([name, value]) => [name, compileExpression(value, place)] as const)
  const spread = args.spread === undefined ? undefined : compileExpression(args.spread, place)
  const namedSpread = args.namedSpread === undefined ? undefined : compileExpression(args.namedSpread, place)
  return (frame) => {
    const values = positional.map((value) => value(frame))
    const names = new Map<string, Value>()
    const addNamed = (name: string, value: Value): void => {
      if (names.has(name)) throw typeError(`got multiple values for keyword argument '${name}'`)
      names.set(name, value)
    }
    for (const [name, value] of named) addNamed(name, value(frame))
    if (spread !== undefined) {
      for (const value of iterate(spread(frame))) values.push(value)
      frame.runtime.budget.list(values.length)
    }
    if (namedSpread !== undefined) {
      const more = namedSpread(frame)
      if (!(more instanceof Dict)) throw typeError("argument after ** must be a mapping")
      for (const [name, value] of more.entries()) {
        if (typeof name !== "string") throw typeError("keywords must be strings")
        addNamed(name, value)
      }
    }
    return new Arguments(values, names)
  }
}

export interface NamedUse {
  name: string
  args: CallArguments
  line: number
}

export function compileFilter(use: NamedUse, place: ExpressionPlace): (input: Value, frame: Frame) => Value {
  const filter = filters.get(use.name)
  if (filter === undefined) {
    const failure = (): TemplateFailure =>
      new TemplateFailure("TemplateSyntaxError", `No filter named '${use.name}'`, use.line)
    if (!place.soft) throw failure()
    return () => {
      throw failure()
    }
  }
  const args = compileArguments(use.args, place)
  return (input, frame) => {
    frame.runtime.budget.spend(1)
    return filter(input, args(frame), frame.runtime)
  }
}

function compileTest(use: Expression & { kind: "test" }, place: ExpressionPlace): Evaluate {
  const test = tests.get(use.name)
  if (test === undefined) {
    const failure = (): TemplateFailure =>
      new TemplateFailure("TemplateSyntaxError", `No test named '${use.name}'`, use.line)
    if (!place.soft) throw failure()
    return () => {
      throw failure()
    }
  }
  const input = compileExpression(use.input, place)
  const args = compileArguments(use.args, place)
  return (frame) => test(input(frame), args(frame), frame.runtime)
}

const binaryOperators: Record<BinaryOperator, (left: Value, right: Value, runtime: Runtime) => Value> = {
  "+": add,
  "-": subtract,
  "*": multiply,
  "/": trueDivide,
  "//": floorDivision,
  "%": modulo,
  "**": power,
}

const compareOperators: Record<CompareOperator, (left: Value, right: Value, runtime: Runtime) => boolean> = {
  "==": equals,
  "!=": (left, right, runtime) => !equals(left, right, runtime),
  "<": (left, right, runtime) => ordered(left, right, "<", runtime),
  "<=": (left, right, runtime) => ordered(left, right, "<=", runtime),
  ">": (left, right, runtime) => ordered(left, right, ">", runtime),
  ">=": (left, right, runtime) => ordered(left, right, ">=", runtime),
  in: (left, right, runtime) => contains(right, left, runtime),
  "not in": (left, right, runtime) => !contains(right, left, runtime),
}

function compileCompare(node: Expression & { kind: "compare" }, place: ExpressionPlace): Evaluate {
  const first = compileExpression(node.first, place)
  const rest = node.rest.map(({ operator, operand }) => ({
    holds: compareOperators[operator],
    operand: compileExpression(operand, place),
  }))
  return (frame) => {
    let left = first(frame)
    for (const { holds, operand } of rest) {
      const right = operand(frame)
      if (!holds(left, right, frame.runtime)) return false
      left = right
    }
    return true
  }
}
