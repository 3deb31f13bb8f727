import { whitespace } from "../template/values/text.ts"

/** As templates take it, which are Python's. */
const run = new RegExp(`[${whitespace}]+`, "g")
/** As clients that trim may take it, in Python or JavaScript. */
const outer = new RegExp(`[${whitespace}\\s]`)

export function withoutSpace(text: string): string {
  return text.replace(run, "")
}

/** Whether texts are equal but for white space; texts that begin alike are only compared from there on. */
export function equalButForSpace(one: string, other: string): boolean {
  return one === other || withoutSpace(one) === withoutSpace(other)
}

/** The text without its outer white space, whoever trimmed it before. */
export function trimmed(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && outer.test(text.charAt(start))) start += 1
  while (end > start && outer.test(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}
