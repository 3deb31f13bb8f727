/** A copy of a JSON value, which whoever has the original cannot change. Numbers of lossless JSON are shared. */
export function copyJson<Value>(value: Value): Value {
  // Each branch makes a value of the kind that it was given.
  return copyOf(value) as Value
}

function copyOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(copyOf)
  if (value instanceof Map) return new Map(Array.from(value, ([key, field]) => [key, copyOf(field)]))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, copyOf(field)]))
}
