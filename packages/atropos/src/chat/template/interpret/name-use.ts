import { namesInArguments, namesInExpression } from "../language/expression-names.ts"
import type { CallArguments, Expression, FilterUse, Statement, Target } from "../language/syntax.ts"

/** Which of `names` a body reads before it sets them; Jinja decides by that what a macro is given. */
export function namesRead(body: readonly Statement[], names: readonly string[]): Set<string> {
  const open = new Set(names)
  const read = new Set<string>()
  new NameVisitor(open, read).statements(body)
  return read
}

class NameVisitor {
  readonly #open: Set<string>
  readonly #read: Set<string>

  constructor(open: Set<string>, read: Set<string>) {
    this.#open = open
    this.#read = read
  }

  statements(body: readonly Statement[]): void {
    for (const statement of body) this.#statement(statement)
  }

  #statement(node: Statement): void {
    switch (node.kind) {
      case "text":
      case "break":
      case "continue":
      case "unsupported":
      case "block":
        return
      case "print":
        return this.#expression(node.expression)
      case "if":
        for (const branch of node.branches) {
          this.#expression(branch.test)
          this.statements(branch.body)
        }
        return this.statements(node.otherwise)
      case "for":
        this.#target(node.target)
        this.#expression(node.iterable)
        this.statements(node.body)
        this.statements(node.otherwise)
        return this.#optional(node.filter)
      case "set":
        this.#target(node.target)
        return this.#expression(node.value)
      case "set-block":
        this.#target(node.target)
        this.#filters(node.filters)
        return this.statements(node.body)
      case "with":
        for (const target of node.targets) this.#target(target)
        for (const value of node.values) this.#expression(value)
        return this.statements(node.body)
      case "macro":
        for (const parameter of node.signature.parameters) this.#open.delete(parameter)
        for (const value of node.signature.defaults) this.#expression(value)
        return this.statements(node.body)
      case "call-block":
        this.#expression(node.call)
        for (const parameter of node.signature.parameters) this.#open.delete(parameter)
        for (const value of node.signature.defaults) this.#expression(value)
        return this.statements(node.body)
      case "filter-block":
        this.statements(node.body)
        return this.#filters(node.filters)
      case "autoescape":
        this.#expression(node.setting)
        return this.statements(node.body)
      case "generation":
        return this.statements(node.body)
    }
  }

  #filters(filters: readonly FilterUse[]): void {
    for (const filter of filters) this.#arguments(filter.args)
  }

  #target(target: Target): void {
    if (target.kind === "name") this.#open.delete(target.name)
    else if (target.kind === "tuple") for (const item of target.items) this.#target(item)
  }

  #arguments(args: CallArguments): void {
    namesInArguments(args, this.#note)
  }

  #optional(node: Expression | undefined): void {
    if (node !== undefined) this.#expression(node)
  }

  #expression(node: Expression): void {
    namesInExpression(node, this.#note)
  }

  readonly #note = (name: string): void => {
    if (this.#open.has(name)) this.#read.add(name)
  }
}
