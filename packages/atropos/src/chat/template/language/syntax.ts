import type { Value } from "../values/value.ts"

/** Expressions of a template. */
export type Expression =
  | { kind: "constant"; value: Value }
  | { kind: "name"; name: string; line: number }
  | { kind: "list" | "tuple"; items: Expression[] }
  | { kind: "dict"; entries: [Expression, Expression][] }
  | { kind: "attribute"; of: Expression; name: string }
  | { kind: "item"; of: Expression; key: Expression }
  | {
      kind: "slice"
      of: Expression
      start: Expression | undefined
      stop: Expression | undefined
      step: Expression | undefined
    }
  | { kind: "call"; callee: Expression; args: CallArguments }
  | { kind: "filter"; input: Expression; name: string; args: CallArguments; line: number }
  | { kind: "test"; input: Expression; name: string; args: CallArguments; line: number }
  | { kind: "unary"; operator: "-" | "+" | "not"; operand: Expression }
  | { kind: "binary"; operator: BinaryOperator; left: Expression; right: Expression }
  | { kind: "and" | "or"; left: Expression; right: Expression }
  | { kind: "compare"; first: Expression; rest: { operator: CompareOperator; operand: Expression }[] }
  | { kind: "concat"; parts: Expression[] }
  | { kind: "conditional"; test: Expression; whenTrue: Expression; otherwise: Expression | undefined }

export type BinaryOperator = "+" | "-" | "*" | "/" | "//" | "%" | "**"
export type CompareOperator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not in"

export interface CallArguments {
  positional: Expression[]
  named: [string, Expression][]
  spread: Expression | undefined
  namedSpread: Expression | undefined
}

/** What can stand to the left of `=`. */
export type Target =
  | { kind: "name"; name: string }
  | { kind: "namespace"; name: string; attribute: string }
  | { kind: "tuple"; items: Target[] }

export interface Signature {
  parameters: string[]
  /** Of the last parameters. */
  defaults: Expression[]
}

export interface FilterUse {
  name: string
  args: CallArguments
  line: number
}

export type Statement = { line: number } & (
  | { kind: "text"; text: string }
  | { kind: "print"; expression: Expression }
  | { kind: "if"; branches: { test: Expression; body: Statement[] }[]; otherwise: Statement[] }
  | ForStatement
  | { kind: "set"; target: Target; value: Expression }
  | { kind: "set-block"; target: Target; filters: FilterUse[]; body: Statement[] }
  | { kind: "with"; targets: Target[]; values: Expression[]; body: Statement[] }
  | { kind: "macro"; name: string; signature: Signature; body: Statement[] }
  | { kind: "call-block"; signature: Signature; call: Expression & { kind: "call" }; body: Statement[] }
  | { kind: "filter-block"; filters: FilterUse[]; body: Statement[] }
  | { kind: "block"; name: string; scoped: boolean; required: boolean; body: Statement[] }
  | { kind: "generation"; body: Statement[] }
  | { kind: "autoescape"; setting: Expression; body: Statement[] }
  | { kind: "break" | "continue" }
  | { kind: "unsupported"; tag: string }
)

export interface ForStatement {
  kind: "for"
  target: Target
  iterable: Expression
  filter: Expression | undefined
  recursive: boolean
  body: Statement[]
  otherwise: Statement[]
}
