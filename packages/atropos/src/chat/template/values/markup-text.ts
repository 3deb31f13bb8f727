import type { Runtime } from "../runtime.ts"
import { escapeMarkup } from "./markup.ts"
import { toText } from "./show.ts"
import { Markup, type Value } from "./value.ts"

/** escape(value): HTML text as it is, all else as text whose special characters are spelled out. */
export function escaped(value: Value, runtime: Runtime): string {
  return value instanceof Markup ? value.text : escapeMarkup(toText(value, runtime))
}
