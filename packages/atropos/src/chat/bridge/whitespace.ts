import { whitespace } from "../template/values/text.ts"

// What Python takes for white space, as templates do, and what JavaScript does, as clients that trim may.
const one = new RegExp(`[${whitespace}\\s]`)
const run = new RegExp(`[${whitespace}\\s]+`, "g")

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
  while (start < end && one.test(text.charAt(start))) start += 1
  while (end > start && one.test(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}
