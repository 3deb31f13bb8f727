// Where `{% autoescape %}` is on. Jinja decides part of that when it compiles and part when it runs: filters, macros and
// captured blocks go by the flag of the moment, printing by what was known when the template was compiled.
import { Budget, defaultLimits } from "../values/budget.ts"
import { TemplateFailure } from "../values/errors.ts"
import { isTrue } from "../values/iterate.ts"
import { escaped } from "../values/markup-text.ts"
import { toText } from "../values/show.ts"
import { Markup, type Value } from "../values/value.ts"
import type { CallArguments, Expression } from "../language/syntax.ts"
import type { Runtime } from "../runtime.ts"
import { Output, Scope, type Evaluate } from "./frame.ts"

export interface Escaping {
  /** The last setting that was a constant. */
  on: boolean
  /** A setting around was no constant: the flag of the moment decides. */
  volatile: boolean
}

export const notEscaping: Escaping = { on: false, volatile: false }

/** What holds inside `{% autoescape setting %}`. */
export function escapingWith(around: Escaping, setting: Expression, evaluate: Evaluate): Escaping {
  const value = isConstant(setting, !around.volatile) ? constantOf(evaluate, around) : undefined
  return value === undefined ? { on: around.on, volatile: true } : { on: isTrue(value), volatile: around.volatile }
}

/** The value of a constant expression; undefined for one that fails, which it then does when it is reached. */
function constantOf(evaluate: Evaluate, around: Escaping): Value | undefined {
  const scope = new Scope()
  const runtime: Runtime = { budget: new Budget(defaultLimits), now: () => new Date(0), autoescape: around.on }
  try {
    return evaluate({ scope, root: scope, output: new Output(runtime), runtime })
  } catch (error) {
    if (error instanceof TemplateFailure) return undefined
    throw error
  }
}

/** `~` looks for HTML text only where escaping is known to be on, and not where its result is known as well. */
export function joinsMarkup(parts: readonly Expression[], { on, volatile }: Escaping): boolean {
  return on && !volatile && !parts.every((part) => isConstant(part, true))
}

/** Whether Jinja runs a filter when it compiles the template. */
export function isKnownFilter(node: Expression & { kind: "filter" }, { volatile }: Escaping): boolean {
  return !volatile && isConstant(node, true)
}

/** Runs what Jinja runs when it compiles a template: by the flag of the place, not that of the moment. */
export function asCompiled(run: Evaluate, { on }: Escaping): Evaluate {
  return (frame) => {
    const { runtime } = frame
    const before = runtime.autoescape
    runtime.autoescape = on
    const value = run(frame)
    runtime.autoescape = before
    return value
  }
}

/** Whether what a body wrote counts as HTML text. */
export function isMarkupHere({ on, volatile }: Escaping, runtime: Runtime): boolean {
  return volatile ? runtime.autoescape : on
}

export function captured(text: string, escaping: Escaping, runtime: Runtime): Value {
  return isMarkupHere(escaping, runtime) ? new Markup(text) : text
}

/** How a `{{ … }}` writes values. Constants are written when the template is compiled. */
export function printerOf(node: Expression, escaping: Escaping): (value: Value, runtime: Runtime) => string {
  const { on, volatile } = isConstant(node, false) ? { ...escaping, volatile: false } : escaping
  if (!on && !volatile) return toText
  return (value, runtime) =>
    isMarkupHere({ on, volatile }, runtime) ? escaped(value, runtime) : toText(value, runtime)
}

/** Filters that look at a template's variables or names are never run when it is compiled. */
const contextFilters = new Set(["map", "select", "reject", "selectattr", "rejectattr", "random"])

/** Whether Jinja knows the value when it compiles a template; `filtered` where that takes filters and tests in. */
function isConstant(node: Expression, filtered: boolean): boolean {
  const every = (parts: readonly (Expression | undefined)[]): boolean =>
    parts.every((part) => part === undefined || isConstant(part, filtered))
  const everyArgument = ({ positional, named, spread, namedSpread }: CallArguments): boolean =>
    every([...positional, ...named.map(([, value]) => value), spread, namedSpread])
  switch (node.kind) {
    case "constant":
      return true
    case "list":
    case "tuple":
      return every(node.items)
    case "dict":
      return every(node.entries.flat())
    case "unary":
      return every([node.operand])
    case "binary":
    case "and":
    case "or":
      return every([node.left, node.right])
    case "compare":
      return every([node.first, ...node.rest.map(({ operand }) => operand)])
    case "concat":
      return every(node.parts)
    case "conditional":
      return every([node.test, node.whenTrue, node.otherwise])
    case "item":
      return every([node.of, node.key])
    case "slice":
      return every([node.of, node.start, node.stop, node.step])
    case "attribute":
      return every([node.of])
    case "filter":
    case "test":
      return filtered && !contextFilters.has(node.name) && every([node.input]) && everyArgument(node.args)
    case "name":
    case "call":
      return false
  }
}
