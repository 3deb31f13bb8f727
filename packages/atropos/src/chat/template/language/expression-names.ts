import type { CallArguments, Expression } from "./syntax.ts"

/** Calls `read` with every variable name that an expression reads, in the order of the text. */
export function namesInExpression(node: Expression, read: (name: string) => void): void {
  const all = (...parts: readonly (Expression | undefined)[]): void => {
    for (const part of parts) if (part !== undefined) namesInExpression(part, read)
  }
  switch (node.kind) {
    case "constant":
      return
    case "name":
      return read(node.name)
    case "list":
    case "tuple":
      return all(...node.items)
    case "dict":
      return all(...node.entries.flat())
    case "attribute":
      return all(node.of)
    case "item":
      return all(node.of, node.key)
    case "slice":
      return all(node.of, node.start, node.stop, node.step)
    case "call":
      all(node.callee)
      return namesInArguments(node.args, read)
    case "filter":
    case "test":
      all(node.input)
      return namesInArguments(node.args, read)
    case "unary":
      return all(node.operand)
    case "binary":
    case "and":
    case "or":
      return all(node.left, node.right)
    case "compare":
      return all(node.first, ...node.rest.map(({ operand }) => operand))
    case "concat":
      return all(...node.parts)
    case "conditional":
      return all(node.whenTrue, node.test, node.otherwise)
  }
}

export function namesInArguments(args: CallArguments, read: (name: string) => void): void {
  const values = [...args.positional, ...args.named.map(([, value]) => value), args.spread, args.namedSpread]
  for (const value of values) if (value !== undefined) namesInExpression(value, read)
}
