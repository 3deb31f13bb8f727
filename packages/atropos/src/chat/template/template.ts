import { AtroposError } from "../../runtime/errors.ts"
import { notEscaping } from "./interpret/escaping.ts"
import { compileFrame } from "./interpret/statements.ts"
import { Output, Scope, type Execute, type Frame } from "./interpret/frame.ts"
import { TemplateReference } from "./interpret/self.ts"
import { parseTemplate } from "./language/parser.ts"
import { Budget, defaultLimits, type RenderLimits } from "./values/budget.ts"
import { toValue, type TemplateInput } from "./values/convert.ts"
import { TemplateFailure } from "./values/errors.ts"

export interface RenderOptions {
  /** What strftime_now reads, as local time. @default the time of the call */
  now?: () => Date
  limits?: Partial<RenderLimits>
}

/**
 * A chat template, compiled. Rendering follows Python's Jinja as transformers sets it up: the immutable sandbox,
 * trim_blocks and lstrip_blocks, break and continue, and transformers' own functions.
 */
export interface Template {
  readonly source: string
  /**
   * Renders with these variables. A template that raises, or that goes past a limit, is an error with code
   * `template-refused`.
   */
  render(variables: Readonly<Record<string, TemplateInput>>, options?: RenderOptions): string
  /** The same text in the pieces in which the template writes it. */
  renderPieces(variables: Readonly<Record<string, TemplateInput>>, options?: RenderOptions): readonly string[]
}

/** Compiles a template; one that Python would not compile is an error with code `bad-template`. */
export function compileTemplate(source: string): Template {
  const blocks = new Map<string, Execute>()
  const body = guarded("bad-template", () =>
    compileFrame(parseTemplate(source), {
      soft: false,
      escaping: notEscaping,
      inLoop: false,
      blocks,
      known: new Set(),
    }),
  )
  const write = (variables: Readonly<Record<string, TemplateInput>>, options: RenderOptions = {}): Output => {
    const runtime = {
      budget: new Budget({ ...defaultLimits, ...options.limits }),
      now: options.now ?? (() => new Date()),
      autoescape: false,
    }
    return guarded("template-refused", () => {
      const given = new Scope()
      for (const [name, value] of Object.entries(variables))
        if (value !== undefined) given.values.set(name, toValue(value))
      const root = new Scope(given)
      const output = new Output(runtime)
      const frame: Frame = { scope: root, root, output, runtime }
      given.values.set("self", new TemplateReference(blocks, frame))
      body(frame)
      return output
    })
  }
  return {
    source,
    render: (variables, options) => write(variables, options).text,
    renderPieces: (variables, options) => write(variables, options).pieces,
  }
}

function guarded<T>(code: "bad-template" | "template-refused", run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof TemplateFailure)
      throw new AtroposError(code, message(code, error), {
        cause: error,
        facts: { kind: error.kind, line: error.line },
      })
    // The stack of JavaScript is the last bound on templates that nest without end.
    if (error instanceof RangeError)
      throw new AtroposError(code, "the chat template nests too deep or makes a text that is too long", {
        cause: error,
      })
    throw error
  }
}

function message(code: "bad-template" | "template-refused", error: TemplateFailure): string {
  const line = error.line === undefined ? "" : ` (line ${error.line})`
  return code === "bad-template"
    ? `the chat template does not compile${line}: ${error.message}`
    : `the chat template refused the conversation${line}: ${error.message}`
}
