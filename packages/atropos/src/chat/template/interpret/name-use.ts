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
    for (const value of args.positional) this.#expression(value)
    for (const [, value] of args.named) this.#expression(value)
    this.#optional(args.spread)
    this.#optional(args.namedSpread)
  }

  #optional(node: Expression | undefined): void {
    if (node !== undefined) this.#expression(node)
  }

  #expression(node: Expression): void {
    switch (node.kind) {
      case "constant":
        return
      case "name":
        if (this.#open.has(node.name)) this.#read.add(node.name)
        return
      case "list":
      case "tuple":
        for (const item of node.items) this.#expression(item)
        return
      case "dict":
        for (const entry of node.entries) for (const part of entry) this.#expression(part)
        return
      case "attribute":
        return this.#expression(node.of)
      case "item":
        this.#expression(node.of)
        return this.#expression(node.key)
      case "slice":
        this.#expression(node.of)
        for (const part of [node.start, node.stop, node.step]) this.#optional(part)
        return
      case "call":
        this.#expression(node.callee)
        return this.#arguments(node.args)
      case "filter":
      case "test":
        this.#expression(node.input)
        return this.#arguments(node.args)
      case "unary":
        return this.#expression(node.operand)
      case "binary":
      case "and":
      case "or":
        this.#expression(node.left)
        return this.#expression(node.right)
      case "compare":
        this.#expression(node.first)
        for (const { operand } of node.rest) this.#expression(operand)
        return
      case "concat":
        for (const part of node.parts) this.#expression(part)
        return
      case "conditional":
        this.#expression(node.whenTrue)
        this.#expression(node.test)
        return this.#optional(node.otherwise)
    }
  }
}
