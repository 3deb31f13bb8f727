// The tables of docs/configuration.md, from the schemas. `node docs/configuration-tables.ts` writes them into the page.
import { readFileSync, writeFileSync } from "node:fs"

import { type FlagGroup, listFlags } from "../packages/atropos/src/cli/environment/help.ts"

export const page = new URL("configuration.md", import.meta.url)
const begin = "<!-- tables: written by docs/configuration-tables.ts -->"
const end = "<!-- end of tables -->"

/** The page with the tables as they should be. */
export function withTables(text: string): string {
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from === -1 || to === -1) throw new Error("docs/configuration.md has no place for the tables")
  return `${text.slice(0, from)}${begin}\n\n${listFlags(undefined).map(table).join("\n")}\n${text.slice(to)}`
}

function table({ title, flags }: FlagGroup): string {
  const rows = flags.map(({ flag, type, default: standard, description }) => [
    `\`${flag}\``,
    type.replaceAll("|", ", "),
    `\`${JSON.stringify(standard)}\``,
    description,
  ])
  const all = [["flag", "type", "default", "meaning"], ...rows]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`
  return [`### ${title[0]?.toUpperCase()}${title.slice(1)}`, "", line(all[0] ?? []), rule, ...rows.map(line), ""].join(
    "\n",
  )
}

if (import.meta.filename === process.argv[1]) writeFileSync(page, withTables(readFileSync(page, "utf8")))
