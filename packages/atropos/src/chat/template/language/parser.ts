// Jinja's statements → a tree.
import { stripEnd } from "../values/text.ts"
import { ExpressionParser } from "./expression-parser.ts"
import { tokenize } from "./lexer.ts"
import type { Expression, FilterUse, Signature, Statement } from "./syntax.ts"
import { TokenStream } from "./token-stream.ts"

export function parseTemplate(source: string): Statement[] {
  return new StatementParser(new TokenStream(tokenize(source))).template()
}

class StatementParser {
  readonly #stream: TokenStream
  readonly #expressions: ExpressionParser

  constructor(stream: TokenStream) {
    this.#stream = stream
    this.#expressions = new ExpressionParser(stream)
  }

  template(): Statement[] {
    return this.#statements([])
  }

  /** Statements up to one of the tags in `ends`, which is left as the current token; an empty list means all. */
  #statements(ends: readonly string[]): Statement[] {
    const stream = this.#stream
    const body: Statement[] = []
    for (;;) {
      const token = stream.current
      switch (token.type) {
        case "text":
          stream.next()
          body.push({ kind: "text", text: token.value, line: token.line })
          break
        case "variable_begin": {
          stream.next()
          const expression = this.#expressions.tuple()
          stream.expect("variable_end")
          body.push({ kind: "print", expression, line: token.line })
          break
        }
        case "block_begin":
          stream.next()
          if (stream.is("name") && ends.includes(stream.current.value)) return body
          body.push(...this.#statement())
          stream.expect("block_end")
          break
        case "end":
          if (ends.length === 0) return body
          throw stream.fail(`Unexpected end of template, looking for ${ends.join(" or ")}`)
        case "variable_end":
        case "block_end":
        case "name":
        case "string":
        case "integer":
        case "float":
        case "operator":
          throw stream.fail("the template's tags do not fit together")
      }
    }
  }

  /** A tag's body: the rest of its opening, statements, and (unless it is to be looked at) its closing name. */
  #body(ends: readonly string[], keepEnd = false): Statement[] {
    this.#stream.skipIf("operator", ":")
    this.#stream.expect("block_end")
    const body = this.#statements(ends)
    if (!keepEnd) this.#stream.next()
    return body
  }

  #statement(): Statement[] {
    const stream = this.#stream
    const { line, value: tag } = stream.expect("name")
    switch (tag) {
      case "for":
        return [{ ...this.#for(), line }]
      case "if":
        return [{ ...this.#if(), line }]
      case "set":
        return [{ ...this.#set(), line }]
      case "with":
        return [{ ...this.#with(), line }]
      case "macro": {
        const name = this.#name()
        return [{ kind: "macro", name, signature: this.#signature(), body: this.#body(["endmacro"]), line }]
      }
      case "call": {
        const signature = stream.isOperator("(") ? this.#signature() : { parameters: [], defaults: [] }
        const call = this.#expressions.expression()
        if (call.kind !== "call") throw stream.fail("expected call", line)
        return [{ kind: "call-block", signature, call, body: this.#body(["endcall"]), line }]
      }
      case "filter": {
        const filters = this.#filters(true)
        return [{ kind: "filter-block", filters, body: this.#body(["endfilter"]), line }]
      }
      case "print": {
        const printed: Statement[] = []
        while (!stream.is("block_end")) {
          if (printed.length > 0) stream.expect("operator", ",")
          printed.push({ kind: "print", expression: this.#expressions.expression(), line })
        }
        return printed
      }
      case "block":
        return [{ ...this.#block(), line }]
      case "autoescape": {
        const setting = this.#expressions.expression()
        const body: Statement[] = [{ kind: "autoescape", setting, body: this.#body(["endautoescape"]), line }]
        // It has variables of its own.
        return [{ kind: "with", targets: [], values: [], body, line }]
      }
      case "generation":
        return [{ kind: "generation", body: this.#body(["endgeneration"]), line }]
      case "break":
      case "continue":
        return [{ kind: tag, line }]
      case "include":
      case "import":
      case "from":
      case "extends":
        // There is no other template to take; Python finds that out when the tag is reached.
        while (!stream.is("block_end") && !stream.is("end")) stream.next()
        return [{ kind: "unsupported", tag, line }]
      default:
        throw stream.fail(`Encountered unknown tag '${tag}'`, line)
    }
  }

  #name(): string {
    const target = this.#expressions.target({ single: true })
    return target.kind === "name" ? target.name : ""
  }

  #for(): Statement & { kind: "for" } {
    const stream = this.#stream
    const { line } = stream.current
    const target = this.#expressions.target({ endName: "in" })
    stream.expect("name", "in")
    const iterable = this.#expressions.tuple({ conditional: false, endName: "recursive" })
    const filter = stream.skipIf("name", "if") ? this.#expressions.expression() : undefined
    const recursive = stream.skipIf("name", "recursive")
    const body = this.#body(["endfor", "else"], true)
    const otherwise = stream.next().value === "else" ? this.#body(["endfor"]) : []
    return { kind: "for", target, iterable, filter, recursive, body, otherwise, line }
  }

  #if(): Statement & { kind: "if" } {
    const stream = this.#stream
    const { line } = stream.current
    const branches: { test: Expression; body: Statement[] }[] = []
    let otherwise: Statement[] = []
    for (;;) {
      const test = this.#expressions.tuple({ conditional: false })
      branches.push({ test, body: this.#body(["elif", "else", "endif"], true) })
      const { value: next } = stream.next()
      if (next === "elif") continue
      if (next === "else") otherwise = this.#body(["endif"])
      return { kind: "if", branches, otherwise, line }
    }
  }

  #set(): Statement {
    const stream = this.#stream
    const { line } = stream.current
    const target = this.#expressions.target({ namespaces: true })
    if (stream.skipIf("operator", "=")) return { kind: "set", target, value: this.#expressions.tuple(), line }
    const filters = this.#filters(false)
    return { kind: "set-block", target, filters, body: this.#body(["endset"]), line }
  }

  #filters(startInline: boolean): FilterUse[] {
    const filters: FilterUse[] = []
    if (startInline) filters.push(this.#expressions.filterUse())
    while (this.#stream.skipIf("operator", "|")) filters.push(this.#expressions.filterUse())
    return filters
  }

  #with(): Statement & { kind: "with" } {
    const stream = this.#stream
    const { line } = stream.current
    const result: Statement & { kind: "with" } = { kind: "with", targets: [], values: [], body: [], line }
    while (!stream.is("block_end")) {
      if (result.targets.length > 0) stream.expect("operator", ",")
      result.targets.push(this.#expressions.target())
      stream.expect("operator", "=")
      result.values.push(this.#expressions.expression())
    }
    result.body = this.#body(["endwith"])
    return result
  }

  #signature(): Signature {
    const stream = this.#stream
    const signature: Signature = { parameters: [], defaults: [] }
    stream.expect("operator", "(")
    while (!stream.isOperator(")")) {
      if (signature.parameters.length > 0) stream.expect("operator", ",")
      signature.parameters.push(this.#name())
      if (stream.skipIf("operator", "=")) signature.defaults.push(this.#expressions.expression())
      else if (signature.defaults.length > 0) throw stream.fail("non-default argument follows default argument")
    }
    stream.expect("operator", ")")
    return signature
  }

  #block(): Statement & { kind: "block" } {
    const stream = this.#stream
    const { line } = stream.current
    const name = stream.expect("name").value
    const scoped = stream.skipIf("name", "scoped")
    const required = stream.skipIf("name", "required")
    const body = this.#body(["endblock"])
    if (required && body.some((node) => node.kind !== "text" || stripEnd(node.text) !== ""))
      throw stream.fail("Required blocks can only contain comments or whitespace", line)
    stream.skipIf("name", name)
    return { kind: "block", name, scoped, required, body, line }
  }
}
