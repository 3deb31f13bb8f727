import { Callable, Markup, PythonObject, type Value } from "../values/value.ts"
import { capture, type Execute, type Frame } from "./frame.ts"

/** The `self` variable: the template's blocks, to be printed again. */
export class TemplateReference extends PythonObject {
  readonly typeName = "TemplateReference"
  readonly #blocks: ReadonlyMap<string, Execute>
  readonly #frame: Frame

  constructor(blocks: ReadonlyMap<string, Execute>, frame: Frame) {
    super()
    this.#blocks = blocks
    this.#frame = frame
  }

  override attribute(name: string): Value | undefined {
    const block = this.#blocks.get(name)
    if (block === undefined) return undefined
    return new Callable(name, (args) => {
      args.positionalOnly(name, 0, 0)
      const { runtime, root } = this.#frame
      const result = runtime.budget.nested(() => capture(this.#frame, root, block))
      const text = "text" in result ? result.text : ""
      return runtime.autoescape ? new Markup(text) : text
    })
  }
}
