import type { Runtime } from "../runtime.ts"
import type { Value } from "../values/value.ts"

/** Variables of one block of a template, over those around it. */
export class Scope {
  readonly values = new Map<string, Value>()
  readonly parent: Scope | undefined

  constructor(parent?: Scope) {
    this.parent = parent
  }

  get(name: string): Value | undefined {
    // No `??`: None is a value.
    const own = this.values.get(name)
    return own === undefined ? this.parent?.get(name) : own
  }
}

/** Where statements write to. */
export class Output {
  text = ""
  /** The text as it was written: long texts are compared piece by piece without being put together. */
  readonly pieces: string[] = []
  readonly #runtime: Runtime

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  write(text: string): void {
    this.text += text
    this.pieces.push(text)
    this.#runtime.budget.text(this.text.length)
  }
}

/** What a running piece of a template sees. */
export interface Frame {
  readonly scope: Scope
  /** The template's outermost variables, which blocks see. */
  readonly root: Scope
  readonly output: Output
  readonly runtime: Runtime
}

/** How a body ended early, if it did. */
export type Signal = "break" | "continue" | undefined

export type Evaluate = (frame: Frame) => Value
export type Execute = (frame: Frame) => Signal

export function withScope(frame: Frame, scope: Scope, output = frame.output): Frame {
  return { scope, output, root: frame.root, runtime: frame.runtime }
}

/** Runs a body apart and gives what it wrote, or how it left early. */
export function capture(frame: Frame, scope: Scope, body: Execute): { text: string } | { signal: Signal } {
  const output = new Output(frame.runtime)
  const signal = body(withScope(frame, scope, output))
  return signal === undefined ? { text: output.text } : { signal }
}
