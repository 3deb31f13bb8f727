import { readText } from "./read-text.ts"
import { asRow, brokenData, type PlacedRow } from "./row.ts"

/**
 * A JSON file: a list of rows, read row by row; or an object that holds such a list (under `field`, or as its only
 * list), which is read as a whole.
 */
export async function* readJson(file: string, field?: string): AsyncGenerator<PlacedRow | Error> {
  const splitter = new ElementSplitter()
  let whole = ""
  let kind: "unknown" | "list" | "object" = "unknown"
  let number = 0
  for await (const piece of readText(file)) {
    if (kind === "unknown") {
      whole += piece
      const first = whole.trimStart().charAt(0)
      if (first === "") continue
      kind = first === "[" ? "list" : "object"
      if (kind === "list") {
        for (const element of splitter.push(whole)) yield readElement(element, file, ++number)
        whole = ""
      }
    } else if (kind === "list") {
      for (const element of splitter.push(piece)) yield readElement(element, file, ++number)
    } else whole += piece
  }
  if (kind === "list") {
    if (!splitter.closed) throw brokenData(file, `row ${number + 1}`, "the file ends in the middle of its list of rows")
    return
  }
  if (whole.trim() === "") return
  for (const [index, value] of listInside(whole, file, field).entries()) {
    const place = `row ${index + 1}`
    yield { row: asRow(value, file, place), place }
  }
}

function readElement(text: string, file: string, number: number): PlacedRow | Error {
  const place = `row ${number}`
  try {
    return { row: asRow(JSON.parse(text), file, place), place }
  } catch (error) {
    return error instanceof SyntaxError
      ? brokenData(file, place, `not JSON: ${error.message}`, error)
      : (error as Error)
  }
}

function listInside(text: string, file: string, field: string | undefined): readonly unknown[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw brokenData(file, undefined, `not JSON: ${error instanceof Error ? error.message : ""}`, error)
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value)
    const named = entries.find(([key, list]) => key === field && Array.isArray(list))
    const lists = entries.filter(([, list]) => Array.isArray(list))
    const found = named ?? (lists.length === 1 ? lists[0] : undefined)
    if (found !== undefined) return found[1] as unknown[]
  }
  throw brokenData(file, undefined, "a JSON file must be a list of rows, or an object with one such list")
}

/** Cuts the text of a JSON list into the texts of its elements, whatever the pieces it comes in. */
class ElementSplitter {
  closed = false
  private depth = 0
  private inString = false
  private escaped = false
  private element = ""

  /** Takes the next piece; the elements that it completes. */
  push(piece: string): string[] {
    const elements: string[] = []
    let start = 0
    for (let index = 0; index < piece.length; index++) {
      const code = piece.charCodeAt(index)
      if (this.inString) {
        if (this.escaped) this.escaped = false
        else if (code === 0x5c) this.escaped = true
        else if (code === 0x22) this.inString = false
        continue
      }
      if (code === 0x22) this.inString = true
      else if (code === 0x5b || code === 0x7b) {
        this.depth++
        if (this.depth === 1) start = index + 1
      } else if (code === 0x5d || code === 0x7d) {
        this.depth--
        if (this.depth === 0) {
          this.closed = true
          this.take(piece.slice(start, index), elements)
          start = index + 1
        }
      } else if (code === 0x2c && this.depth === 1) {
        this.take(piece.slice(start, index), elements)
        start = index + 1
      }
    }
    if (this.depth > 0) this.element += piece.slice(start)
    return elements
  }

  private take(end: string, elements: string[]): void {
    const element = (this.element + end).trim()
    this.element = ""
    if (element !== "") elements.push(element)
  }
}
