import { splitAtSpace } from "./text.ts"

/** markupsafe.escape() of plain text. */
export function escapeMarkup(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll(">", "&gt;")
    .replaceAll("<", "&lt;")
    .replaceAll("'", "&#39;")
    .replaceAll('"', "&#34;")
}

const entities = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
  ["nbsp", "\u00a0"],
])

/** Markup.striptags(): without comments and tags, white space collapsed, entities read. */
export function stripTags(html: string): string {
  // Nothing is cut from where a tag or a comment is not closed.
  const text = html.replace(/<!--[^]*?-->|<!--[^]*|<(?!!--)[^>]*>|<[^]*/g, (match) => (isClosed(match) ? "" : match))
  return unescapeMarkup(splitAtSpace(text).join(" "))
}

function isClosed(match: string): boolean {
  return match.startsWith("<!--") ? match.length > 6 && match.endsWith("-->") : match.endsWith(">")
}

/** Entities as the characters that they name: those of XML and the numbered ones. */
export function unescapeMarkup(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return entities.get(name) ?? whole
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}
