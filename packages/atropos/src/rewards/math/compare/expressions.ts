import { freeSymbols, mapOperands, type Expression, type NumberLiteral } from "../expression.ts"
import type { Budget } from "../numbers/budget.ts"
import { spelledWord } from "../parse/names.ts"
import { realSet, realSetsEqual } from "./real-sets.ts"
import {
  firstSide,
  holdExactlyOn,
  isAssignment,
  isEquation,
  lastSide,
  relationsEqual,
  shortenAssignment,
  type Relation,
} from "./relations.ts"
import { isSameWholePercentage, scalarsEqual } from "./scalars.ts"

export interface CompareOptions {
  /** Decimals are compared after rounding both to this many places. @default 6 */
  floatRounding?: number
  /** With `false`, free symbols are matched by position and not by name. @default true */
  strict?: boolean
  /** A gold set also accepts a relation with that solution set. @default false */
  allowSetRelation?: boolean
}

export interface ResolvedCompareOptions extends Required<CompareOptions> {
  /** A bare whole number may stand for the gold percentage (`50` for `\boxed{50\%}`). */
  barePercentage: boolean
  budget: Budget
}

/** Steps that one comparison costs before it looks at any value. */
const comparisonCost = 25

/** Whether an answer says the same as the gold one. Not symmetric: the gold one decides what is asked for. */
export function expressionsEqual(gold: Expression, answer: Expression, options: ResolvedCompareOptions): boolean {
  const renamed = options.strict ? answer : renameSymbols(answer, gold)
  return compareWhole(gold, renamed, options)
}

/** The answer with its free symbols named like the gold one's, by order of appearance. */
function renameSymbols(answer: Expression, gold: Expression): Expression {
  const [from, to] = [freeSymbols(answer), freeSymbols(gold)]
  if (from.length !== to.length) return answer
  const names = new Map(from.map((name, index) => [name, to[index] ?? name]))
  const rename = (part: Expression): Expression =>
    part.kind === "symbol" ? { ...part, name: names.get(part.name) ?? part.name } : mapOperands(part, rename)
  return rename(answer)
}

function compareWhole(goldSide: Expression, answerSide: Expression, options: ResolvedCompareOptions): boolean {
  if (!options.budget.spend(comparisonCost)) return false
  let gold = shorten(goldSide)
  let answer = shorten(answerSide)
  if (isEquation(answer) && !isEquation(gold)) answer = lastSide(answer)
  else if (isAssignment(gold) && !isEquation(answer)) gold = lastSide(gold)

  if (gold.kind === "relation" && answer.kind === "relation") {
    // `x \in S` and `x = 1, 2`: the same name and the same set.
    if (isEquation(gold) && isEquation(answer) && isSetLike(lastSide(gold)) && isSetLike(lastSide(answer))) {
      return (
        compareWhole(firstSide(gold), firstSide(answer), options) &&
        compareWhole(lastSide(gold), lastSide(answer), options)
      )
    }
    const sameName = isAssignment(gold) && isAssignment(answer) && sameSymbol(firstSide(gold), firstSide(answer))
    if (sameName && !mentions(lastSide(gold), firstSide(gold)) && !mentions(lastSide(answer), firstSide(gold))) {
      return compareWhole(lastSide(gold), lastSide(answer), options)
    }
    return relationsEqual(gold, answer, (left, right) => compareWhole(left, right, options), options.budget)
  }
  const [goldRelations, answerRelations] = [inequalitiesOf(gold), inequalitiesOf(answer)]
  if (goldRelations !== undefined && answerRelations === undefined && isSetLike(answer)) {
    const set = realSet(answer, options.budget)
    return set !== undefined && holdExactlyOn(goldRelations, set, options.budget)
  }
  if (answerRelations !== undefined && goldRelations === undefined && isSetLike(gold)) {
    const set = options.allowSetRelation ? realSet(gold, options.budget) : undefined
    return set !== undefined && holdExactlyOn(answerRelations, set, options.budget)
  }
  if (gold.kind === "relation" || answer.kind === "relation") return false
  if (gold.kind === "matrix" || answer.kind === "matrix") return matricesEqual(gold, answer, options)
  const [readGold, readAnswer] = readGroups(gold, answer)
  if (isSetLike(readGold) || isSetLike(readAnswer)) return setsEqual(readGold, readAnswer, options)
  return valuesEqual(readGold, readAnswer, options)
}

/** A relation, or a list of inequalities (`x < 1` or `x > 2`), as the conditions that it sets. */
function inequalitiesOf(expression: Expression): readonly Relation[] | undefined {
  if (expression.kind === "relation") return [expression]
  if (expression.kind !== "set" || expression.elements.length === 0) return undefined
  const relations = expression.elements.filter((element) => element.kind === "relation")
  return relations.length === expression.elements.length && !relations.some(isEquation) ? relations : undefined
}

/** A chain of assignments says that the first side is the last; of a calculation (`5 + 7 = 12`) the result is asked for. */
function shorten(expression: Expression): Expression {
  if (isAssignment(expression)) return shortenAssignment(expression)
  return isEquation(expression) && freeSymbols(expression).length === 0 ? lastSide(expression) : expression
}

function sameSymbol(a: Expression, b: Expression): boolean {
  return a.kind === "symbol" && b.kind === "symbol" && a.name === b.name
}

function mentions(expression: Expression, symbol: Expression): boolean {
  return symbol.kind === "symbol" && freeSymbols(expression).includes(symbol.name)
}

function isSetLike(expression: Expression): boolean {
  return ["set", "tuple", "interval", "combination", "named-set"].includes(expression.kind)
}

/** `3,100` against several values was a list after all. */
function readGroups(gold: Expression, answer: Expression): [Expression, Expression] {
  if (gold.kind === "number" && gold.groups !== undefined && isSetLike(answer)) return [asList(gold, answer), answer]
  if (answer.kind === "number" && answer.groups !== undefined && isSetLike(gold)) return [gold, asList(answer, gold)]
  return [gold, answer]
}

function asList(literal: NumberLiteral, other: Expression): Expression {
  const elements = (literal.groups ?? []).map((value): Expression => ({ kind: "number", value, decimal: false }))
  const [lower, upper] = elements
  if (literal.parenthesised === true && other.kind === "interval" && lower && upper && elements.length === 2) {
    return { kind: "interval", lower, upper, lowerOpen: true, upperOpen: true }
  }
  return { kind: literal.parenthesised === true ? "tuple" : "set", elements }
}

function matricesEqual(gold: Expression, answer: Expression, options: ResolvedCompareOptions): boolean {
  if (gold.kind !== "matrix" || answer.kind !== "matrix" || gold.rows.length !== answer.rows.length) return false
  return gold.rows.every((row, index) => {
    const other = answer.rows[index]
    return (
      other !== undefined &&
      row.length === other.length &&
      row.every((element, column) => {
        const counterpart = other[column]
        return counterpart !== undefined && compareWhole(element, counterpart, options)
      })
    )
  })
}

function setsEqual(gold: Expression, answer: Expression, options: ResolvedCompareOptions): boolean {
  if (gold.kind === "named-set" && answer.kind === "named-set") return gold.name === answer.name
  if (gold.kind === "interval" && answer.kind === "interval") {
    return (
      gold.lowerOpen === answer.lowerOpen &&
      gold.upperOpen === answer.upperOpen &&
      compareWhole(gold.lower, answer.lower, options) &&
      compareWhole(gold.upper, answer.upper, options)
    )
  }
  const [goldElements, answerElements] = [elementsOf(gold), elementsOf(answer)]
  if (goldElements !== undefined && answerElements !== undefined) {
    // Braces say nothing about order; parentheses do, also against braces.
    const unordered = isUnordered(gold) && isUnordered(answer)
    if (unordered) {
      return matchUnordered(unwrapUnions(goldElements), unwrapUnions(answerElements), options)
    }
    return matchInOrder(goldElements, answerElements, options)
  }
  const [goldSet, answerSet] = [realSet(gold, options.budget), realSet(answer, options.budget)]
  if (goldSet === undefined || answerSet === undefined) return false
  return realSetsEqual(goldSet, answerSet, options.floatRounding)
}

function isUnordered(expression: Expression): boolean {
  return expression.kind !== "tuple" && expression.kind !== "interval"
}

/** The values that something lists in order; an open interval of two ends may have been meant as a pair. */
function elementsOf(expression: Expression): readonly Expression[] | undefined {
  const { kind } = expression
  if (kind === "set" || kind === "tuple") return expression.elements
  if (kind === "interval") {
    return expression.lowerOpen && expression.upperOpen ? [expression.lower, expression.upper] : undefined
  }
  return kind === "combination" || kind === "named-set" ? undefined : [expression]
}

/** Sets inside a set (`x = 1, x = 2, 3`, `\pm`) count with their elements. */
function unwrapUnions(elements: readonly Expression[]): readonly Expression[] {
  return elements.flatMap((element): readonly Expression[] => {
    if (element.kind === "set" && element.elements.length > 0) return element.elements
    if (isAssignment(element)) {
      const value = lastSide(element)
      if (value.kind === "set") {
        return value.elements.map((part) => ({ ...element, operands: [firstSide(element), part], operators: ["="] }))
      }
    }
    return [element]
  })
}

function matchInOrder(
  gold: readonly Expression[],
  answer: readonly Expression[],
  options: ResolvedCompareOptions,
): boolean {
  return (
    gold.length === answer.length &&
    gold.every((element, index) => {
      const other = answer[index]
      return other !== undefined && compareWhole(element, other, options)
    })
  )
}

/** Each side's values without repetitions, matched one to one. What is written alike is matched without comparing. */
function matchUnordered(
  gold: readonly Expression[],
  answer: readonly Expression[],
  options: ResolvedCompareOptions,
): boolean {
  const wanted = new Map(gold.map((element) => [spell(element), element]))
  const given = new Map(answer.map((element) => [spell(element), element]))
  const goldOnly = [...wanted].filter(([spelled]) => !given.has(spelled)).map(([, element]) => element)
  const answerOnly = [...given].filter(([spelled]) => !wanted.has(spelled)).map(([, element]) => element)
  if (goldOnly.length === answerOnly.length && matchOneToOne(goldOnly, answerOnly, options)) return true
  // The same value may stand there twice in two notations.
  const [all, others] = [distinct([...wanted.values()], options), distinct([...given.values()], options)]
  if (all.length === wanted.size && others.length === given.size) return false
  return all.length === others.length && matchOneToOne(all, others, options)
}

function matchOneToOne(
  gold: readonly Expression[],
  answer: readonly Expression[],
  options: ResolvedCompareOptions,
): boolean {
  const left = [...answer]
  return gold.every((element) => {
    const index = left.findIndex((other) => compareWhole(element, other, options))
    if (index === -1) return false
    left.splice(index, 1)
    return true
  })
}

function distinct(elements: readonly Expression[], options: ResolvedCompareOptions): Expression[] {
  const kept: Expression[] = []
  for (const element of elements) {
    const known = kept.some((other) => compareWhole(other, element, options) && compareWhole(element, other, options))
    if (!known) kept.push(element)
  }
  return kept
}

/** A tree as text: equal texts are equal trees. */
function spell(expression: Expression): string {
  return JSON.stringify(expression, (_, value: unknown) => (typeof value === "bigint" ? value.toString(36) : value))
}

function valuesEqual(gold: Expression, answer: Expression, options: ResolvedCompareOptions): boolean {
  const [goldWord, answerWord] = [spelledWord(gold), spelledWord(answer)]
  if (goldWord !== undefined && answerWord !== undefined && (gold.kind === "symbol" || answer.kind === "symbol")) {
    if (sameWord(goldWord, answerWord)) return true
  }
  if (isSameWholePercentage(answer, gold, options.budget)) return true
  if (options.barePercentage && isSameWholePercentage(gold, answer, options.budget)) return true
  return scalarsEqual(gold, answer, options.floatRounding, options.budget)
}

/** One letter is told from another by its case, words are not. */
function sameWord(a: string, b: string): boolean {
  return a === b || (a.length > 1 && b.length > 1 && a.toLowerCase() === b.toLowerCase())
}
