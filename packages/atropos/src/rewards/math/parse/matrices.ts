import { operandsOf, type Expression } from "../expression.ts"
import { integer } from "../numbers/rational.ts"
import { notAFormula, type Cursor } from "./cursor.ts"

/** `\begin{…} … \end{…}`: matrices by row, determinants, systems, and what only lays lines out. */
export function parseEnvironment(cursor: Cursor, name: string): Expression {
  const bare = name.replace(/\*$/, "")
  switch (bare) {
    case "matrix":
    case "pmatrix":
    case "bmatrix":
    case "Bmatrix":
    case "smallmatrix":
    case "psmallmatrix":
    case "array":
      return { kind: "matrix", rows: parseRows(cursor, name) }
    case "vmatrix":
    case "Vmatrix":
      return determinant(parseRows(cursor, name))
    case "cases": {
      const rows = parseRows(cursor, name)
      if (rows.every((row) => row.length === 1)) return { kind: "set", elements: rows.flat() }
      return { kind: "opaque", name: "cases", operands: rows.flat(), bound: [] }
    }
    default:
      throw notAFormula
  }
}

function parseRows(cursor: Cursor, name: string): Expression[][] {
  return cursor.enclosed(() => {
    const rows: Expression[][] = []
    const end = (): boolean => {
      const token = cursor.peek()
      if (token?.type !== "end") return false
      if (token.name !== name) throw notAFormula
      cursor.position++
      return true
    }
    while (!end()) {
      const row = [cursor.grammar.relation(cursor)]
      while (cursor.takeSymbol("&")) row.push(cursor.grammar.relation(cursor))
      cursor.takeSymbol(",")
      rows.push(row)
      if (cursor.takeCommand("\\")) continue
      if (end()) break
      throw notAFormula
    }
    const width = rows[0]?.length ?? 0
    if (rows.length === 0 || (name !== "cases" && rows.some((row) => row.length !== width))) throw notAFormula
    return rows
  })
}

/** Up to this size a determinant is written out. */
const maxDeterminant = 4
/** Elements that products and determinants write out are not larger than this, in parts. */
const maxElement = 2000

/** Refuses an element that has grown beyond all sense: parts are shared, so its tree can be far larger than its text. */
function boundedElement(element: Expression): Expression {
  let parts = 0
  const count = (part: Expression): void => {
    if (++parts > maxElement) throw notAFormula
    for (const operand of operandsOf(part)) count(operand)
  }
  count(element)
  return element
}

function determinant(rows: readonly (readonly Expression[])[]): Expression {
  if (rows.length !== rows[0]?.length || rows.length > maxDeterminant) throw notAFormula
  const [first] = rows
  const [only] = first ?? []
  if (first === undefined || only === undefined) throw notAFormula
  if (rows.length === 1) return only
  const terms = first.map((entry, column): Expression => {
    const minor = rows.slice(1).map((row) => row.filter((_, index) => index !== column))
    const term = product([entry, determinant(minor)])
    return column % 2 === 0 ? term : { kind: "negation", operand: term }
  })
  return boundedElement({ kind: "sum", terms })
}

function product(factors: readonly Expression[]): Expression {
  return { kind: "product", factors, implicit: false }
}

/** Sums, products and multiples of matrices written out by element; anything else as it is. */
export function combineMatrices(expression: Expression): Expression {
  if (expression.kind === "sum" && expression.terms.some(isMatrix)) return expression.terms.reduce(byElement)
  if (expression.kind === "product" && expression.factors.some(isMatrix)) return expression.factors.reduce(multiply)
  if (expression.kind === "negation" && isMatrix(expression.operand)) {
    return mapElements(expression.operand, (element) => ({ kind: "negation", operand: element }))
  }
  return expression
}

type Matrix = Extract<Expression, { kind: "matrix" }>

function isMatrix(expression: Expression): expression is Matrix {
  return expression.kind === "matrix"
}

function mapElements(matrix: Matrix, change: (element: Expression) => Expression): Matrix {
  return { kind: "matrix", rows: matrix.rows.map((row) => row.map(change)) }
}

function byElement(left: Expression, right: Expression): Expression {
  // `negation` of a matrix was written out when it was read.
  if (!isMatrix(left) || !isMatrix(right)) throw notAFormula
  if (left.rows.length !== right.rows.length || left.rows[0]?.length !== right.rows[0]?.length) throw notAFormula
  return {
    kind: "matrix",
    rows: left.rows.map((row, index) =>
      row.map((element, column) => ({ kind: "sum", terms: [element, right.rows[index]?.[column] ?? zero] })),
    ),
  }
}

const zero: Expression = { kind: "number", value: integer(0), decimal: false }

function multiply(left: Expression, right: Expression): Expression {
  if (isMatrix(left) && isMatrix(right)) {
    const inner = right.rows.length
    if (left.rows[0]?.length !== inner || inner * left.rows.length > 100) throw notAFormula
    return {
      kind: "matrix",
      rows: left.rows.map((row) =>
        (right.rows[0] ?? []).map((_, column) =>
          boundedElement({
            kind: "sum",
            terms: row.map((element, index) => product([element, right.rows[index]?.[column] ?? zero])),
          }),
        ),
      ),
    }
  }
  if (isMatrix(left)) return mapElements(left, (element) => product([element, right]))
  if (isMatrix(right)) return mapElements(right, (element) => product([left, element]))
  return product([left, right])
}
