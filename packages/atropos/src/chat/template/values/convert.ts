import { JsonFloat } from "../../lossless-json.ts"
import { typeError } from "./errors.ts"
import { Dict, PythonObject, type Value } from "./value.ts"

/**
 * What a template can be given: plain JSON values, or those of the lossless reader (a Map is an object, a bigint an
 * int, a JsonFloat a float). A plain number without a fraction is an int.
 */
export type TemplateInput =
  | null
  | undefined
  | boolean
  | number
  | bigint
  | JsonFloat
  | string
  | readonly TemplateInput[]
  | ReadonlyMap<string, TemplateInput>
  | { readonly [key: string]: TemplateInput }

export function toValue(input: TemplateInput): Value {
  if (input === null || input === undefined) return null
  if (typeof input === "string" || typeof input === "boolean" || typeof input === "bigint") return input
  if (typeof input === "number") return Number.isInteger(input) ? BigInt(input) : input
  if (typeof input === "object") return fromObject(input)
  throw typeError(`a ${typeof input} cannot be given to a template`)
}

function fromObject(input: object & TemplateInput): Value {
  if (input instanceof JsonFloat) return input.value
  if (isList(input)) return input.map(toValue)
  if (input instanceof PythonObject) return input
  const entries = input instanceof Map ? input : Object.entries(input)
  const dict = new Dict()
  for (const [key, value] of entries) if (value !== undefined) dict.set(key, toValue(value))
  return dict
}

function isList(input: object): input is readonly TemplateInput[] {
  return Array.isArray(input)
}
