import { TokenIds } from "../../chat/token-ids.ts"

/** A request's JSON in pieces, of which the ids of a growing prompt are neither written anew nor copied. */
export function requestBody(body: unknown): Uint8Array[] {
  const pieces: Uint8Array[] = []
  let text = ""
  const flush = (): void => {
    if (text !== "") pieces.push(Buffer.from(text))
    text = ""
  }
  const write = (value: unknown): void => {
    if (value instanceof TokenIds) {
      flush()
      pieces.push(value.openJson)
      text = "]"
    } else if (!holdsIds(value)) text += JSON.stringify(value) ?? "null"
    else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        text += index === 0 ? "[" : ","
        write(item)
      }
      text += "]"
    } else {
      const fields = Object.entries(value).filter(([, field]) => field !== undefined)
      for (const [index, [key, field]] of fields.entries()) {
        text += `${index === 0 ? "{" : ","}${JSON.stringify(key)}:`
        write(field)
      }
      text += "}"
    }
  }
  write(body)
  flush()
  return pieces
}

/** Routes have a prompt as a field, inside of one, or as the only prompt of a list. */
function holdsIds(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false
  if (value instanceof TokenIds) return true
  return Array.isArray(value) ? holdsIds(value[0]) : Object.values(value).some(holdsIds)
}
