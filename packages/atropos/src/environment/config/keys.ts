import { AtroposError } from "../../runtime/errors.ts"

/** `maxTokenLength` → `max_token_length`; snake_case stays. The one spelling by which keys are compared. */
export function toSnake(key: string): string {
  return key.replaceAll("-", "_").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Keys of an object of configuration in the snake_case of files and flags. */
export function withSnakeKeys(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [toSnake(key), value]))
}

/** The values under the field names that `known` spells; a key that is none of them is an error. */
export function withFieldNames(
  values: Readonly<Record<string, unknown>>,
  known: readonly string[],
): Record<string, unknown> {
  const names = new Map(known.map((name) => [toSnake(name), name]))
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => {
      const name = names.get(toSnake(key))
      if (name === undefined) throw new AtroposError("bad-option", `there is no field ${key}`)
      return [name, value]
    }),
  )
}
