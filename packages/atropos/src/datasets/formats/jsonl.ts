import { readText } from "./read-text.ts"
import { asRow, brokenData, type PlacedRow } from "./row.ts"

/** Lines longer than this are no rows. */
const maxLine = 256 * 1024 * 1024

/** One JSON object a line; empty lines do not count. */
export async function* readJsonLines(file: string): AsyncGenerator<PlacedRow | Error> {
  let rest = ""
  let number = 0
  for await (const piece of readText(file)) {
    const lines = (rest + piece).split("\n")
    rest = lines.pop() ?? ""
    if (rest.length > maxLine) throw brokenData(file, `line ${number + lines.length + 1}`, "the line does not end")
    for (const line of lines) yield* readLine(line, file, ++number)
  }
  yield* readLine(rest, file, ++number)
}

function* readLine(line: string, file: string, number: number): Generator<PlacedRow | Error> {
  if (line.trim() === "") return
  const place = `line ${number}`
  try {
    yield { row: asRow(JSON.parse(line), file, place), place }
  } catch (error) {
    yield error instanceof SyntaxError ? brokenData(file, place, `not JSON: ${error.message}`, error) : (error as Error)
  }
}
