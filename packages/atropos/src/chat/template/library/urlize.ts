// Links of the addresses in a text, as Jinja's filter urlize finds them.
import { TemplateFailure } from "../values/errors.ts"
import { escapeMarkup } from "../values/markup.ts"
import { textLength, unitOffset, whitespace } from "../values/text.ts"

export interface UrlizeOptions {
  /** Longest shown address, in characters. */
  trimLimit: number | undefined
  rel: string
  /** Escaped text. */
  target: string | undefined
  extraSchemes: readonly string[]
}

const digit = "\\p{Nd}"
const word = "[\\p{L}\\p{N}_]"
const host = "[\\p{L}\\p{N}_%-]"
const named = `(?:https?://|www\\.)(?:${host}+\\.)*(?:[a-z]{2,63}|xn--[\\p{L}\\p{N}_%]{2,59})`
const knownEnding = `(?:${host}{2,63}\\.)+(?:com|net|int|edu|gov|org|info|mil)`
const numbered = `https?://(?:${digit}{1,3}(?:\\.${digit}{1,3}){3}|\\[(?:[${digit}a-f]{0,4}:){2}(?:[${digit}a-f]{0,4}:?){1,6}\\])`
const webAddress = new RegExp(
  `^(?:${named}|${knownEnding}|${numbered})(?::${digit}{1,5})?(?:[/?#][^${whitespace}]*)?$`,
  "iu",
)
const mailAddress = new RegExp(`^[^${whitespace}]+@${word}(?:[\\p{L}\\p{N}_.-])*\\.${word}+$`, "u")
const spaces = new RegExp(`([${whitespace}]+)`)
const before = /^(?:[(<]|&lt;)+/
const behind = /(?:[)>.,\n]|&gt;)+$/
const brackets = [
  ["(", ")"],
  ["<", ">"],
  ["&lt;", "&gt;"],
] as const

/** Longer ones would take a time that grows with the square of their length. */
const longestAddress = 10_000

/** `html` is escaped text. */
export function urlize(html: string, options: UrlizeOptions): string {
  return html
    .split(spaces)
    .map((part) => {
      if (part.length > longestAddress)
        throw new TemplateFailure("LimitError", `urlize was given a word of more than ${longestAddress} characters`)
      const head = before.exec(part)?.[0] ?? ""
      const rest = part.slice(head.length)
      const tail = behind.exec(rest)?.[0] ?? ""
      const [address, closing] = balanced(rest.slice(0, rest.length - tail.length), tail)
      return head + linked(address, options) + closing
    })
    .join("")
}

/** Closing brackets behind an address belong to it as far as it opens them. */
function balanced(address: string, closing: string): [address: string, closing: string] {
  let [middle, tail] = [address, closing]
  for (const [open, close] of brackets) {
    const opened = count(middle, open)
    if (opened <= count(middle, close)) continue
    for (let left = Math.min(opened, count(tail, close)); left > 0; left -= 1) {
      const end = tail.indexOf(close) + close.length
      middle += tail.slice(0, end)
      tail = tail.slice(end)
    }
  }
  return [middle, tail]
}

function count(text: string, part: string): number {
  return text.split(part).length - 1
}

function linked(address: string, options: UrlizeOptions): string {
  const { rel, target, extraSchemes } = options
  const attributes =
    (rel === "" ? "" : ` rel="${escapeMarkup(rel)}"`) +
    (target === undefined || target === "" ? "" : ` target="${target}"`)
  if (webAddress.test(address)) {
    const scheme = address.startsWith("https://") || address.startsWith("http://") ? "" : "https://"
    return `<a href="${scheme}${address}"${attributes}>${shown(address, options.trimLimit)}</a>`
  }
  if (address.startsWith("mailto:") && mailAddress.test(address.slice(7)))
    return `<a href="${address}">${address.slice(7)}</a>`
  const isPlainMail = !/^(?:www\.|@)/.test(address) && !address.includes(":") && mailAddress.test(address)
  if (isPlainMail) return `<a href="mailto:${address}">${address}</a>`
  let result = address
  for (const scheme of extraSchemes)
    if (result !== scheme && result.startsWith(scheme)) result = `<a href="${result}"${attributes}>${result}</a>`
  return result
}

function shown(address: string, limit: number | undefined): string {
  const length = textLength(address)
  if (limit === undefined || length <= limit) return address
  const kept = limit < 0 ? Math.max(0, length + limit) : limit
  return `${address.slice(0, unitOffset(address, kept))}...`
}
