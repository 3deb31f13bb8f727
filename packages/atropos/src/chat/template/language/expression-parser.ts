// Jinja's expression grammar, precedence by precedence.
import { parseInteger } from "../values/numbers.ts"
import type { BinaryOperator, CallArguments, CompareOperator, Expression, FilterUse, Target } from "./syntax.ts"
import { describe, type TokenStream } from "./token-stream.ts"

const comparisons: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="])
const constants = new Map<string, boolean | null>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null],
])

export interface TupleOptions {
  /** Only names and literals, as in a target. */
  simplified?: boolean
  /** @default true */
  conditional?: boolean
  /** A name that ends the tuple. */
  endName?: string
  explicitParentheses?: boolean
}

export class ExpressionParser {
  readonly stream: TokenStream

  constructor(stream: TokenStream) {
    this.stream = stream
  }

  expression(conditional = true): Expression {
    return conditional ? this.#conditional() : this.#or()
  }

  /** An expression, or several with commas between them. */
  tuple(options: TupleOptions = {}): Expression {
    const { stream } = this
    const items: Expression[] = []
    let isTuple = false
    for (;;) {
      if (items.length > 0) stream.expect("operator", ",")
      if (this.#tupleEnds(options.endName)) break
      items.push(options.simplified === true ? this.#primary() : this.expression(options.conditional ?? true))
      if (!stream.isOperator(",")) break
      isTuple = true
    }
    const [only] = items
    if (!isTuple) {
      if (only !== undefined) return only
      if (options.explicitParentheses !== true)
        throw stream.fail(`Expected an expression, got '${describe(stream.current)}'`)
    }
    return { kind: "tuple", items }
  }

  #tupleEnds(endName: string | undefined): boolean {
    const { stream } = this
    return (
      stream.is("variable_end") ||
      stream.is("block_end") ||
      stream.isOperator(")") ||
      (endName !== undefined && stream.is("name", endName))
    )
  }

  #conditional(): Expression {
    let result = this.#or()
    while (this.stream.skipIf("name", "if")) {
      const test = this.#or()
      const otherwise = this.stream.skipIf("name", "else") ? this.#conditional() : undefined
      result = { kind: "conditional", test, whenTrue: result, otherwise }
    }
    return result
  }

  #or(): Expression {
    let left = this.#and()
    while (this.stream.skipIf("name", "or")) left = { kind: "or", left, right: this.#and() }
    return left
  }

  #and(): Expression {
    let left = this.#not()
    while (this.stream.skipIf("name", "and")) left = { kind: "and", left, right: this.#not() }
    return left
  }

  #not(): Expression {
    if (this.stream.skipIf("name", "not")) return { kind: "unary", operator: "not", operand: this.#not() }
    return this.#compare()
  }

  #compare(): Expression {
    const { stream } = this
    const first = this.#sum()
    const rest: { operator: CompareOperator; operand: Expression }[] = []
    for (;;) {
      const { type, value } = stream.current
      if (type === "operator" && comparisons.has(value)) {
        stream.next()
        // `comparisons` holds exactly these operators.
        rest.push({ operator: value as CompareOperator, operand: this.#sum() })
      } else if (stream.skipIf("name", "in")) rest.push({ operator: "in", operand: this.#sum() })
      else if (stream.is("name", "not") && stream.ahead.type === "name" && stream.ahead.value === "in") {
        stream.next()
        stream.next()
        rest.push({ operator: "not in", operand: this.#sum() })
      } else break
    }
    return rest.length === 0 ? first : { kind: "compare", first, rest }
  }

  #binary(operators: readonly BinaryOperator[], operand: () => Expression): Expression {
    let left = operand()
    while (this.stream.isOperator(...operators)) {
      const operator = this.stream.next().value as BinaryOperator
      left = { kind: "binary", operator, left, right: operand() }
    }
    return left
  }

  #sum(): Expression {
    return this.#binary(["+", "-"], () => this.#concat())
  }

  #concat(): Expression {
    const first = this.#product()
    const parts = [first]
    while (this.stream.skipIf("operator", "~")) parts.push(this.#product())
    return parts.length === 1 ? first : { kind: "concat", parts }
  }

  #product(): Expression {
    return this.#binary(["*", "/", "//", "%"], () => this.#power())
  }

  #power(): Expression {
    return this.#binary(["**"], () => this.#unary(true))
  }

  #unary(withFilter: boolean): Expression {
    const { stream } = this
    let node: Expression
    if (stream.skipIf("operator", "-")) node = { kind: "unary", operator: "-", operand: this.#unary(false) }
    else if (stream.skipIf("operator", "+")) node = { kind: "unary", operator: "+", operand: this.#unary(false) }
    else node = this.#primary()
    node = this.#postfix(node)
    return withFilter ? this.#filtersAndTests(node) : node
  }

  #primary(): Expression {
    const { stream } = this
    const token = stream.current
    switch (token.type) {
      case "name": {
        stream.next()
        const constant = constants.get(token.value)
        return constant === undefined
          ? { kind: "name", name: token.value, line: token.line }
          : { kind: "constant", value: constant }
      }
      case "string": {
        let value = ""
        while (stream.is("string")) value += stream.next().value
        return { kind: "constant", value }
      }
      case "integer":
        stream.next()
        return { kind: "constant", value: parseInteger(token.value, 0) ?? 0n }
      case "float":
        stream.next()
        return { kind: "constant", value: Number(token.value) }
      case "operator":
        if (token.value === "(") {
          stream.next()
          const inner = this.tuple({ explicitParentheses: true })
          stream.expect("operator", ")")
          return inner
        }
        if (token.value === "[") return { kind: "list", items: this.#items("]", () => this.expression()) }
        if (token.value === "{")
          return {
            kind: "dict",
            entries: this.#items("}", (): [Expression, Expression] => {
              const key = this.expression()
              stream.expect("operator", ":")
              return [key, this.expression()]
            }),
          }
        break
      case "text":
      case "variable_begin":
      case "variable_end":
      case "block_begin":
      case "block_end":
      case "end":
        break
    }
    throw stream.fail(`unexpected '${describe(token)}'`)
  }

  #items<T>(closer: string, item: () => T): T[] {
    const { stream } = this
    stream.next()
    const items: T[] = []
    while (!stream.isOperator(closer)) {
      if (items.length > 0) stream.expect("operator", ",")
      if (stream.isOperator(closer)) break
      items.push(item())
    }
    stream.expect("operator", closer)
    return items
  }

  #postfix(start: Expression): Expression {
    let node = start
    for (;;) {
      if (this.stream.isOperator(".", "[")) node = this.#subscript(node)
      else if (this.stream.isOperator("(")) node = { kind: "call", callee: node, args: this.callArguments() }
      else return node
    }
  }

  #filtersAndTests(start: Expression): Expression {
    let node = start
    for (;;) {
      if (this.stream.isOperator("|")) {
        this.stream.next()
        node = { kind: "filter", input: node, ...this.filterUse() }
      } else if (this.stream.is("name", "is")) node = this.#test(node)
      else if (this.stream.isOperator("(")) node = { kind: "call", callee: node, args: this.callArguments() }
      else return node
    }
  }

  /** A filter's name and arguments, after the `|`. */
  filterUse(): FilterUse {
    const { line } = this.stream.current
    const name = this.#dottedName()
    return { name, args: this.stream.isOperator("(") ? this.callArguments() : noArguments(), line }
  }

  #dottedName(): string {
    let name = this.stream.expect("name").value
    while (this.stream.skipIf("operator", ".")) name += `.${this.stream.expect("name").value}`
    return name
  }

  #test(input: Expression): Expression {
    const { stream } = this
    const { line } = stream.next()
    const negated = stream.skipIf("name", "not")
    const name = this.#dottedName()
    let args = noArguments()
    if (stream.isOperator("(")) args = this.callArguments()
    else if (this.#startsTestArgument()) {
      if (stream.is("name", "is")) throw stream.fail("You cannot chain multiple tests with is")
      args = { ...noArguments(), positional: [this.#postfix(this.#primary())] }
    }
    const test: Expression = { kind: "test", input, name, args, line }
    return negated ? { kind: "unary", operator: "not", operand: test } : test
  }

  #startsTestArgument(): boolean {
    const { type, value } = this.stream.current
    if (type === "name") return value !== "else" && value !== "or" && value !== "and"
    return type === "string" || type === "integer" || type === "float" || this.stream.isOperator("[", "{")
  }

  #subscript(of: Expression): Expression {
    const { stream } = this
    if (stream.next().value === ".") {
      const token = stream.next()
      if (token.type === "name") return { kind: "attribute", of, name: token.value }
      if (token.type !== "integer") throw stream.fail("expected name or number", token.line)
      return { kind: "item", of, key: { kind: "constant", value: parseInteger(token.value, 0) ?? 0n } }
    }
    const keys: (Expression | SlicePart)[] = []
    while (!stream.isOperator("]")) {
      if (keys.length > 0) stream.expect("operator", ",")
      keys.push(this.#subscriptKey())
    }
    stream.expect("operator", "]")
    const [only] = keys
    if (keys.length === 1 && only !== undefined) {
      return "isSlice" in only
        ? { kind: "slice", of, start: only.start, stop: only.stop, step: only.step }
        : { kind: "item", of, key: only }
    }
    const items = keys.map((key): Expression => {
      if ("isSlice" in key) throw stream.fail("slices inside a tuple are not supported")
      return key
    })
    return { kind: "item", of, key: { kind: "tuple", items } }
  }

  #subscriptKey(): Expression | SlicePart {
    const { stream } = this
    const ends = (): boolean => stream.isOperator("]", ",")
    let start: Expression | undefined
    if (!stream.isOperator(":")) {
      start = this.expression()
      if (!stream.isOperator(":")) return start
    }
    stream.next()
    const stop = stream.isOperator(":") || ends() ? undefined : this.expression()
    const step = stream.skipIf("operator", ":") && !ends() ? this.expression() : undefined
    return { isSlice: true, start, stop, step }
  }

  callArguments(): CallArguments {
    const { stream } = this
    const { line } = stream.expect("operator", "(")
    const args = noArguments()
    const ensure = (valid: boolean): void => {
      if (!valid) throw stream.fail("invalid syntax for function call expression", line)
    }
    let first = true
    while (!stream.isOperator(")")) {
      if (!first) {
        stream.expect("operator", ",")
        if (stream.isOperator(")")) break
      }
      first = false
      if (stream.skipIf("operator", "*")) {
        ensure(args.spread === undefined && args.namedSpread === undefined)
        args.spread = this.expression()
      } else if (stream.skipIf("operator", "**")) {
        ensure(args.namedSpread === undefined)
        args.namedSpread = this.expression()
      } else if (stream.is("name") && stream.ahead.type === "operator" && stream.ahead.value === "=") {
        ensure(args.namedSpread === undefined)
        const name = stream.next().value
        stream.next()
        args.named.push([name, this.expression()])
      } else {
        ensure(args.spread === undefined && args.namedSpread === undefined && args.named.length === 0)
        args.positional.push(this.expression())
      }
    }
    stream.expect("operator", ")")
    return args
  }

  /** What stands to the left of `=` or between `for` and `in`. */
  target(options: { endName?: string; namespaces?: boolean; single?: boolean } = {}): Target {
    const { stream } = this
    const { line } = stream.current
    if (options.single === true) return this.#nameTarget(stream.expect("name").value, line)
    const items: Target[] = []
    let isTuple = false
    for (;;) {
      if (items.length > 0) stream.expect("operator", ",")
      if (this.#tupleEnds(options.endName)) break
      items.push(this.#targetPart(options.namespaces ?? false))
      if (!stream.isOperator(",")) break
      isTuple = true
    }
    const [only] = items
    if (!isTuple && only !== undefined) return only
    if (!isTuple) throw stream.fail(`Expected an expression, got '${describe(stream.current)}'`)
    return { kind: "tuple", items }
  }

  #targetPart(namespaces: boolean): Target {
    const { stream } = this
    const token = stream.current
    if (stream.skipIf("operator", "(")) {
      const inner = this.target({ namespaces: false })
      stream.expect("operator", ")")
      return inner
    }
    const name = stream.next()
    if (name.type !== "name" || constants.has(name.value))
      throw stream.fail(`can't assign to '${describe(token)}'`, token.line)
    if (namespaces && stream.skipIf("operator", "."))
      return { kind: "namespace", name: name.value, attribute: stream.expect("name").value }
    return this.#nameTarget(name.value, token.line)
  }

  #nameTarget(name: string, line: number): Target {
    if (constants.has(name)) throw this.stream.fail(`can't assign to '${name}'`, line)
    return { kind: "name", name }
  }
}

interface SlicePart {
  isSlice: true
  start: Expression | undefined
  stop: Expression | undefined
  step: Expression | undefined
}

function noArguments(): CallArguments {
  return { positional: [], named: [], spread: undefined, namedSpread: undefined }
}
