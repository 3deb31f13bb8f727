import { parse } from "csv-parse"

import { readText } from "./read-text.ts"
import { brokenData, type PlacedRow } from "./row.ts"

/**
 * Values separated by commas (tabs in `.tsv`), with names in the first line. Numbers become numbers where writing
 * them gives the same text again; everything else stays text.
 */
export async function* readCsv(file: string): AsyncGenerator<PlacedRow | Error> {
  const delimiter = /\.tsv(?:\.gz)?$/.test(file) ? "\t" : ","
  const parser = parse({ delimiter, columns: true, skip_empty_lines: true, bom: true, info: true, raw: false })
  const feeding = feed(file, parser)
  feeding.catch((error: unknown) => parser.destroy(error instanceof Error ? error : undefined))
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: Record<string, string>
      info: { lines: number }
    }>) {
      yield { row: Object.fromEntries(Object.entries(record).map(convert)), place: `line ${info.lines}` }
    }
    await feeding
  } catch (error) {
    const line =
      typeof error === "object" && error !== null && "lines" in error ? `line ${String(error.lines)}` : undefined
    throw brokenData(file, line, error instanceof Error ? error.message : "not readable as CSV", error)
  }
}

async function feed(file: string, parser: ReturnType<typeof parse>): Promise<void> {
  for await (const piece of readText(file)) {
    if (!parser.write(piece)) await new Promise((resolve) => parser.once("drain", resolve))
  }
  parser.end()
}

function convert([column, text]: [string, string]): [string, string | number] {
  const number = Number(text)
  return [column, text !== "" && String(number) === text && Number.isFinite(number) ? number : text]
}
