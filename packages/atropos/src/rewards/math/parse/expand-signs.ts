import { contains, mapOperands, type Expression } from "../expression.ts"

/** Replaces every value with a plus-minus sign by its two values, wherever a value can stand. */
export function expandSigns(expression: Expression): Expression {
  if (!contains(expression, (part) => part.kind === "plus-minus")) return expression
  if (expression.kind === "set") {
    return {
      ...expression,
      elements: expression.elements.flatMap((element): readonly Expression[] => {
        const expanded = expandSigns(element)
        return expanded.kind === "set" && element.kind !== "set" ? expanded.elements : [expanded]
      }),
    }
  }
  if (expression.kind === "relation") return { ...expression, operands: expression.operands.map(expandSigns) }
  return { kind: "set", elements: [withSign(expression, false), withSign(expression, true)] }
}

/** All signs taken together: the upper ones, or the lower ones. */
function withSign(expression: Expression, lower: boolean): Expression {
  if (expression.kind !== "plus-minus") return mapOperands(expression, (operand) => withSign(operand, lower))
  const operand = withSign(expression.operand, lower)
  return expression.minusFirst === lower ? operand : { kind: "negation", operand }
}
