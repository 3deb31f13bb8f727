// What filters share: reading their arguments, and looking into elements.
import type { Runtime } from "../runtime.ts"
import { getItem } from "../values/attributes.ts"
import { typeError } from "../values/errors.ts"
import { asInteger, asText, typeName, Undefined, type Arguments, type Value } from "../values/value.ts"

export type Filter = (input: Value, args: Arguments, runtime: Runtime) => Value

export function integerArgument(callee: string, value: Value | undefined, standard: number): number {
  if (value === undefined) return standard
  const integer = asInteger(value)
  if (integer === undefined) throw typeError(`${callee} wants an int, not ${typeName(value)}`)
  return Number(integer)
}

export function textArgument(callee: string, value: Value | undefined, standard: string): string {
  if (value === undefined) return standard
  const text = asText(value)
  if (text === undefined) throw typeError(`${callee} wants a str, not ${typeName(value)}`)
  return text
}

export type Getter = (item: Value) => Value

/** Reads `a.b.0` of an element: every part by key first. Without a name, the element itself. */
export function attributeGetter(name: Value | undefined, runtime: Runtime, standard?: Value): Getter {
  const parts = attributeParts(name)
  return (item) => {
    let value = item
    for (const part of parts) {
      value = getItem(value, part, runtime)
      if (standard !== undefined && standard !== null && value instanceof Undefined) value = standard
    }
    return value
  }
}

function attributeParts(name: Value | undefined): Value[] {
  if (name === undefined || name === null) return []
  const text = asText(name)
  if (text === undefined) return [name]
  return text.split(".").map((part) => (/^\d+$/.test(part) ? BigInt(part) : part))
}

/** Sorting and grouping take texts without their case unless told otherwise. */
export function ignoreCase(value: Value): Value {
  return asText(value)?.toLowerCase() ?? value
}
