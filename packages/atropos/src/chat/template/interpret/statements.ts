// Statements → closures.
import type { Expression, FilterUse, ForStatement, Statement, Target } from "../language/syntax.ts"
import { TemplateFailure, typeError, valueError } from "../values/errors.ts"
import { isTrue, iterate } from "../values/iterate.ts"
import { add } from "../values/operators.ts"
import { toText } from "../values/show.ts"
import {
  Arguments,
  asText,
  Markup,
  Namespace,
  PythonIterator,
  typeName,
  Undefined,
  type Value,
} from "../values/value.ts"
import { captured, escapingWith, notEscaping, printerOf } from "./escaping.ts"
import { call, compileArguments, compileExpression, compileFilter, type ExpressionPlace } from "./expressions.ts"
import { frameNames, targetNames } from "./frame-names.ts"
import { capture, Scope, withScope, type Execute, type Frame, type Signal } from "./frame.ts"
import { LoopContext } from "./loop.ts"
import { Macro, macroParts } from "./macro.ts"

/** Where in the template the code to compile stands. */
export interface Place extends ExpressionPlace {
  inLoop: boolean
  /** The template's blocks, found so far. */
  blocks: Map<string, Execute>
  /** Names that the blocks of variables around this one read or set. */
  known: ReadonlySet<string>
}

/** A whole template, or another body that has variables of its own. */
export function compileFrame(statements: readonly Statement[], place: Place, given: readonly string[] = []): Execute {
  const { touched, setFirst } = frameNames(statements, given)
  const unset = [...setFirst]
    .filter((name) => !place.known.has(name))
    .map((name) => [name, new Undefined(`'${name}' is undefined`)] as const)
  const body = compileBody(statements, { ...place, soft: false, known: new Set([...place.known, ...touched]) })
  return (frame) => {
    for (const [name, value] of unset) frame.scope.values.set(name, value)
    return body(frame)
  }
}

function compileBody(statements: readonly Statement[], place: Place): Execute {
  const steps = statements.map((statement) => compileStatement(statement, place))
  return (frame) => {
    for (let i = 0; i < steps.length; i += 1) {
      try {
        const signal = steps[i]?.(frame)
        if (signal !== undefined) return signal
      } catch (error) {
        if (error instanceof TemplateFailure) error.line ??= statements[i]?.line
        throw error
      }
    }
    return undefined
  }
}

/** A statement that always goes on to the next one. */
function act(run: (frame: Frame) => unknown): Execute {
  return (frame) => {
    run(frame)
    return undefined
  }
}

function compileStatement(node: Statement, place: Place): Execute {
  switch (node.kind) {
    case "text": {
      const { text } = node
      return act(({ output }) => output.write(text))
    }
    case "print": {
      const pieces = compilePieces(node.expression, place)
      const print = printerOf(node.expression, place.escaping)
      return act((frame) => {
        for (const piece of pieces(frame)) frame.output.write(print(piece, frame.runtime))
      })
    }
    case "if": {
      const inside = { ...place, soft: true }
      const branches = node.branches.map(({ test, body }) => ({
        test: compileExpression(test, inside),
        body: compileBody(body, inside),
      }))
      const otherwise = compileBody(node.otherwise, inside)
      return (frame) => {
        for (const { test, body } of branches) if (isTrue(test(frame))) return body(frame)
        return otherwise(frame)
      }
    }
    case "for":
      return compileFor(node, place)
    case "set": {
      const value = compileExpression(node.value, place)
      const assign = compileTarget(node.target)
      return act((frame) => assign(frame, value(frame)))
    }
    case "set-block": {
      const body = compileFrame(node.body, place)
      const apply = compileFilters(node.filters, place)
      const assign = compileTarget(node.target)
      return (frame) => {
        const result = capture(frame, new Scope(frame.scope), body)
        if ("signal" in result) return result.signal
        const value = apply(result.text, frame)
        assign(frame, frame.runtime.autoescape ? new Markup(toText(value, frame.runtime)) : value)
        return undefined
      }
    }
    case "filter-block": {
      const body = compileFrame(node.body, place)
      const apply = compileFilters(node.filters, place)
      return (frame) => {
        const result = capture(frame, new Scope(frame.scope), body)
        if ("signal" in result) return result.signal
        frame.output.write(writtenText(apply(result.text, frame)))
        return undefined
      }
    }
    case "with": {
      const values = node.values.map((value) => compileExpression(value, place))
      const targets = node.targets.map(compileTarget)
      const body = compileFrame(node.body, place, node.targets.flatMap(targetNames))
      return (frame) => {
        const inner = withScope(frame, new Scope(frame.scope))
        targets.forEach((assign, index) => assign(inner, values[index]?.(frame) ?? null))
        return body(inner)
      }
    }
    case "macro": {
      const parts = compileMacro(node.name, node, place)
      return act((frame) => frame.scope.values.set(node.name, new Macro(parts, frame)))
    }
    case "call-block": {
      const parts = compileMacro("caller", node, place)
      const callee = compileExpression(node.call.callee, place)
      const args = compileArguments(node.call.args, place)
      return (frame) => {
        const target = callee(frame)
        const { positional, named } = args(frame)
        if (named.has("caller")) throw typeError("got multiple values for keyword argument 'caller'")
        const all = new Arguments(positional, new Map([...named, ["caller", new Macro(parts, frame)]]))
        frame.output.write(writtenText(call(target, all, frame.runtime)))
        return undefined
      }
    }
    case "generation": {
      // Marks the assistant's text for Python's masks; it prints its body, in variables of its own.
      const body = compileFrame(node.body, { ...place, inLoop: false })
      return act((frame) => body(withScope(frame, new Scope(frame.scope))))
    }
    case "autoescape": {
      const setting = compileExpression(node.setting, place)
      const body = compileBody(node.body, { ...place, escaping: escapingWith(place.escaping, node.setting, setting) })
      return (frame) => {
        const { runtime } = frame
        const before = runtime.autoescape
        runtime.autoescape = isTrue(setting(frame))
        const signal = body(frame)
        // Python jumps over this when a loop is left from inside.
        if (signal === undefined) runtime.autoescape = before
        return signal
      }
    }
    case "block": {
      if (place.blocks.has(node.name))
        throw new TemplateFailure("TemplateSyntaxError", `block '${node.name}' defined twice`, node.line)
      const body = compileFrame(node.body, { ...place, escaping: notEscaping, inLoop: false, known: new Set() })
      const run: Execute = (frame) => {
        if (node.required) throw new TemplateFailure("TemplateError", `Required block '${node.name}' not found`)
        body(withScope(frame, new Scope(node.scoped ? frame.scope : frame.root)))
        return undefined
      }
      place.blocks.set(node.name, run)
      return run
    }
    case "break":
    case "continue": {
      if (!place.inLoop) throw new TemplateFailure("TemplateSyntaxError", `'${node.kind}' outside loop`, node.line)
      const { kind } = node
      return () => kind
    }
    case "unsupported":
      return () => {
        throw typeError(`no loader for this environment specified: a chat template cannot '${node.tag}' others`)
      }
  }
}

/** What is to be printed. Texts that are added to each other are printed one by one: long ones stay what they are. */
function compilePieces(node: Expression, place: Place): (frame: Frame) => readonly Value[] {
  const added: Expression[] = []
  let first = node
  for (; first.kind === "binary" && first.operator === "+"; first = first.left) added.unshift(first.right)
  const start = compileExpression(first, place)
  const operands = added.map((operand) => compileExpression(operand, place))
  return (frame) => {
    let value = start(frame)
    let texts = typeof value === "string" ? [value] : undefined
    for (const operand of operands) {
      const next = operand(frame)
      if (texts !== undefined && typeof next === "string") texts.push(next)
      else {
        value = add(texts?.join("") ?? value, next, frame.runtime)
        texts = typeof value === "string" ? [value] : undefined
      }
    }
    return texts ?? [value]
  }
}

function compileFilters(uses: readonly FilterUse[], place: Place): (text: string, frame: Frame) => Value {
  const applied = uses.map((use) => compileFilter(use, place))
  return (text, frame) =>
    applied.reduce<Value>(
      (value, apply) => apply(value, frame),
      applied.length === 0 ? text : captured(text, place.escaping, frame.runtime),
    )
}

/** What is written without being printed has to be text. */
function writtenText(value: Value): string {
  const text = asText(value)
  if (text === undefined) throw typeError(`expected str instance, ${typeName(value)} found`)
  return text
}

function compileMacro(
  name: string,
  node: Statement & { kind: "macro" | "call-block" },
  place: Place,
): ReturnType<typeof macroParts> {
  const given = [...node.signature.parameters, "caller", "kwargs", "varargs"]
  const body = compileFrame(node.body, { ...place, inLoop: false }, given)
  const defaults = node.signature.defaults.map((value) => compileExpression(value, { ...place, soft: false }))
  return macroParts(name, node.signature, node.body, defaults, body, node.line)
}

type Assign = (frame: Frame, value: Value) => void

function compileTarget(target: Target): Assign {
  switch (target.kind) {
    case "name": {
      const { name } = target
      return ({ scope }, value) => {
        scope.values.set(name, value)
      }
    }
    case "namespace": {
      const { name, attribute } = target
      return ({ scope }, value) => {
        const namespace = scope.get(name)
        if (!(namespace instanceof Namespace))
          throw new TemplateFailure("TemplateError", "cannot assign attribute on non-namespace object")
        namespace.values.set(attribute, value)
      }
    }
    case "tuple": {
      const items = target.items.map(compileTarget)
      return (frame, value) => {
        const values = [...iterate(value)]
        if (values.length > items.length) throw valueError(`too many values to unpack (expected ${items.length})`)
        if (values.length < items.length)
          throw valueError(`not enough values to unpack (expected ${items.length}, got ${values.length})`)
        items.forEach((assign, index) => assign(frame, values[index] ?? null))
      }
    }
  }
}

function compileFor(node: ForStatement, place: Place): Execute {
  const iterable = compileExpression(node.iterable, place)
  const assign = compileTarget(node.target)
  const filter = node.filter === undefined ? undefined : compileExpression(node.filter, { ...place, soft: false })
  const body = compileFrame(node.body, { ...place, inLoop: true }, [...targetNames(node.target), "loop"])
  const otherwise = compileFrame(node.otherwise, place)
  const runOtherwise = (frame: Frame): Signal =>
    node.otherwise.length === 0 ? undefined : otherwise(withScope(frame, new Scope(frame.scope)))

  const passing = function* (frame: Frame, items: Iterable<Value>): IterableIterator<Value> {
    for (const item of items) {
      const inner = withScope(frame, new Scope(frame.scope))
      assign(inner, item)
      if (filter === undefined || isTrue(filter(inner))) yield item
    }
  }

  const run = (frame: Frame, given: Value, depth0: number): Signal => {
    // As of the calls of most messages.
    if (Array.isArray(given) && given.length === 0) return runOtherwise(frame)
    const items = iterate(given)
    const counted: Value = filter === undefined ? given : new PythonIterator(passing(frame, items))
    const source = counted instanceof PythonIterator ? counted.source : items[Symbol.iterator]()
    const recurse = node.recursive
      ? (inner: Value, depth: number): Value =>
          frame.runtime.budget.nested(() => {
            const result = capture(frame, frame.scope, (inside) => run(inside, inner, depth))
            return captured("text" in result ? result.text : "", place.escaping, frame.runtime)
          })
      : undefined
    const loop = new LoopContext(counted, source, depth0, frame.runtime, recurse)
    // Jinja notes that the loop ran at the end of its body: where every round breaks off before, `else` is run too.
    let ran = false
    for (let item = loop.next(); item !== undefined; item = loop.next()) {
      frame.runtime.budget.spend(1)
      const scope = new Scope(frame.scope)
      const inner = withScope(frame, scope)
      scope.values.set("loop", loop)
      assign(inner, item)
      const signal = body(inner)
      if (signal === undefined) ran = true
      if (signal === "break") break
    }
    return ran ? undefined : runOtherwise(frame)
  }
  return (frame) => run(frame, iterable(frame), 0)
}
