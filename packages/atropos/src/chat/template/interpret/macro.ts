import type { Signature, Statement } from "../language/syntax.ts"
import type { Runtime } from "../runtime.ts"
import { TemplateFailure, typeError } from "../values/errors.ts"
import { Callable, Dict, Markup, Tuple, Undefined, type Arguments, type Value } from "../values/value.ts"
import { capture, Scope, type Evaluate, type Execute, type Frame } from "./frame.ts"
import { namesRead } from "./name-use.ts"

export interface MacroParts {
  name: string
  parameters: readonly string[]
  /** Of the last parameters. */
  defaults: readonly Evaluate[]
  body: Execute
  takesCaller: boolean
  takesNamed: boolean
  takesRest: boolean
}

/** What a macro's body reads decides which of the special arguments it is given. */
export function macroParts(
  name: string,
  signature: Signature,
  statements: readonly Statement[],
  defaults: readonly Evaluate[],
  body: Execute,
  line: number,
): MacroParts {
  const { parameters } = signature
  const callerIndex = parameters.indexOf("caller")
  if (callerIndex >= 0 && callerIndex < parameters.length - defaults.length)
    throw new TemplateFailure(
      "TemplateSyntaxError",
      'the special "caller" argument must be omitted or be given a default',
      line,
    )
  const read = namesRead(statements, ["caller", "kwargs", "varargs"])
  return {
    name,
    parameters,
    defaults,
    body,
    takesCaller: read.has("caller") || callerIndex >= 0,
    takesNamed: read.has("kwargs") && !parameters.includes("kwargs"),
    takesRest: read.has("varargs") && !parameters.includes("varargs"),
  }
}

/** A macro of the template, closed over the variables where it was defined. */
export class Macro extends Callable {
  readonly #parts: MacroParts

  constructor(parts: MacroParts, frame: Frame) {
    super(parts.name, (args, runtime) => runMacro(parts, args, frame, runtime), "Macro")
    this.#parts = parts
  }

  override attribute(name: string): Value | undefined {
    const { parameters, takesCaller, takesNamed, takesRest } = this.#parts
    switch (name) {
      case "name":
        return this.name
      case "arguments":
        return [...parameters]
      case "catch_kwargs":
        return takesNamed
      case "catch_varargs":
        return takesRest
      case "caller":
        return takesCaller
      default:
        return undefined
    }
  }
}

function runMacro(parts: MacroParts, args: Arguments, definition: Frame, runtime: Runtime): Value {
  // The flag of the call counts, whatever the body sets.
  const { autoescape } = runtime
  const { parameters, name } = parts
  const scope = new Scope(definition.scope)
  const named = new Map(args.named)
  const given = parameters.map((parameter, index) => {
    const positional = args.positional[index]
    if (positional !== undefined) return positional
    const value = named.get(parameter)
    named.delete(parameter)
    return value
  })
  const explicitCaller = parameters.includes("caller")
  if (parts.takesCaller && !explicitCaller) {
    scope.values.set("caller", named.get("caller") ?? new Undefined("No caller defined"))
    named.delete("caller")
  }
  if (parts.takesNamed) scope.values.set("kwargs", Dict.of(named))
  else for (const key of named.keys()) throw typeError(`macro '${name}' takes no keyword argument '${key}'`)
  if (parts.takesRest) scope.values.set("varargs", new Tuple(args.positional.slice(parameters.length)))
  else if (args.positional.length > parameters.length)
    throw typeError(`macro '${name}' takes not more than ${parameters.length} argument(s)`)

  return runtime.budget.nested(() => {
    const frame: Frame = { ...definition, scope }
    const firstDefault = parameters.length - parts.defaults.length
    parameters.forEach((parameter, index) => {
      const value = given[index]
      const fallback = parts.defaults[index - firstDefault]
      if (value !== undefined) scope.values.set(parameter, value)
      else if (fallback !== undefined) scope.values.set(parameter, fallback(frame))
      else scope.values.set(parameter, new Undefined(`parameter '${parameter}' was not provided`))
    })
    const result = capture(frame, scope, parts.body)
    const text = "text" in result ? result.text : ""
    return autoescape ? new Markup(text) : text
  })
}
