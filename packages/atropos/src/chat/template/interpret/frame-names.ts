// Jinja decides when it compiles which names a block of variables has of its own. A name that the block sets, and does
// not read before, is its own from the start: what runs before the setting (a loop, a macro) sees nothing under
// that name, even if the template was given a variable of it.
import { namesInArguments, namesInExpression } from "../language/expression-names.ts"
import type { Expression, FilterUse, Statement, Target } from "../language/syntax.ts"

export interface FrameNames {
  /** All names that the block itself reads or sets. */
  touched: ReadonlySet<string>
  /** Those that are set before they are read, and on every way through the block. */
  setFirst: ReadonlySet<string>
}

/** `given` are names that the block is opened with: a loop's target, a macro's parameters. */
export function frameNames(body: readonly Statement[], given: readonly string[]): FrameNames {
  const collector = new NameCollector(given)
  collector.statements(body)
  return collector
}

export function targetNames(target: Target): string[] {
  if (target.kind === "tuple") return target.items.flatMap(targetNames)
  return target.kind === "name" ? [target.name] : []
}

class NameCollector implements FrameNames {
  readonly touched: Set<string>
  readonly setFirst = new Set<string>()
  /** Inside the branch of an `if`, where a setting may not happen. */
  #branches = 0

  constructor(given: readonly string[]) {
    this.touched = new Set(given)
  }

  #set(name: string): void {
    if (!this.touched.has(name) && this.#branches === 0) this.setFirst.add(name)
    this.touched.add(name)
  }

  statements(body: readonly Statement[]): void {
    for (const statement of body) this.#statement(statement)
  }

  #target(target: Target): void {
    if (target.kind === "name") this.#set(target.name)
    else if (target.kind === "namespace") this.#read(target.name)
    else for (const item of target.items) this.#target(item)
  }

  #statement(node: Statement): void {
    switch (node.kind) {
      case "print":
        return this.#expression(node.expression)
      case "if":
        for (const branch of node.branches) this.#expression(branch.test)
        this.#branches += 1
        for (const branch of node.branches) this.statements(branch.body)
        this.statements(node.otherwise)
        this.#branches -= 1
        return
      case "for":
        return this.#expression(node.iterable)
      case "set":
        this.#expression(node.value)
        return this.#target(node.target)
      case "set-block":
        return this.#target(node.target)
      case "with":
        for (const value of node.values) this.#expression(value)
        return
      case "macro":
        return this.#set(node.name)
      case "call-block":
        return this.#expression(node.call)
      case "filter-block":
        return this.#filters(node.filters)
      case "autoescape":
        this.#expression(node.setting)
        return this.statements(node.body)
      case "text":
      case "generation":
      case "block":
      case "break":
      case "continue":
      case "unsupported":
        return
    }
  }

  #filters(filters: readonly FilterUse[]): void {
    for (const filter of filters) namesInArguments(filter.args, this.#read)
  }

  #expression(node: Expression): void {
    namesInExpression(node, this.#read)
  }

  readonly #read = (name: string): void => {
    this.touched.add(name)
  }
}
