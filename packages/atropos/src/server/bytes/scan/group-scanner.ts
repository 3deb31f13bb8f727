import { maxRows, type ScannedGroup } from "../codec.ts"
import { type GroupField, groupFields } from "../group-fields.ts"
import { FreeForm, scanList } from "./free-form.ts"
import { type RowLength, scanFloats, scanIntegers } from "./number-rows.ts"
import { Text } from "./text.ts"

interface Rows {
  count: number
  /** Lengths, where rows must be as long as those of tokens. */
  lengths: number[]
}

const maxIdDigits = 15
const keys = groupFields.map(({ name }) => `"${name}"`)

/**
 * Scans one group: its keys in any order, each once and spelled without escapes, and what must match `tokens` in
 * length. Says null to whatever is not plainly right.
 */
export class GroupScanner {
  private readonly text: Text
  private readonly freeForm: FreeForm
  private readonly row: RowLength = { count: 0 }
  private envId: number | null = null
  private rows: (Rows | null)[] = []

  constructor(input: Uint8Array, output: Uint8Array) {
    this.text = new Text(input, output)
    this.freeForm = new FreeForm(this.text)
  }

  /** Bytes of canonical JSON written by the last scan. */
  get written(): number {
    return this.text.out
  }

  scan(start: number): ScannedGroup | null {
    const { text } = this
    text.out = 0
    this.freeForm.reset()
    this.envId = null
    this.rows = groupFields.map(() => null)
    const end = this.scanFields(start)
    const tokens = this.rows[0]
    if (end === 0 || tokens === null || tokens === undefined || !this.lengthsMatch(tokens)) return null
    return {
      end,
      size: tokens.count,
      tokens: tokens.lengths.reduce((sum, length) => sum + length, 0),
      envId: this.envId,
    }
  }

  private scanFields(position: number): number {
    const { text } = this
    const { input } = text
    const seen = new Set<GroupField>()
    if (input[position] !== 0x7b) return 0
    text.put(0x7b)
    position = text.skipSpace(position + 1)
    for (;;) {
      const index = keys.findIndex((key) => text.hasWord(position, key))
      const field = groupFields[index]
      if (field === undefined || seen.has(field)) return 0
      seen.add(field)
      const keyEnd = position + field.name.length + 2
      text.copy(position, keyEnd)
      position = text.skipSpace(keyEnd)
      if (input[position] !== 0x3a) return 0
      text.put(0x3a)
      position = this.scanField(index, field, text.skipSpace(position + 1))
      if (position === 0) return 0
      position = text.skipSpace(position)
      if (input[position] === 0x7d) break
      if (input[position] !== 0x2c) return 0
      text.put(0x2c)
      position = text.skipSpace(position + 1)
    }
    for (const field of groupFields) {
      if (seen.has(field)) continue
      if (field.required) return 0
      for (const character of `,"${field.name}":null`) text.put(character.charCodeAt(0))
    }
    text.put(0x7d)
    return position + 1
  }

  private scanField(index: number, field: GroupField, position: number): number {
    const { text, freeForm } = this
    if (!field.required && text.hasWord(position, "null")) {
      text.copy(position, position + 4)
      return position + 4
    }
    switch (field.is.kind) {
      case "integer":
        return this.scanEnvId(position)
      case "numbers": {
        const rows: Rows = { count: 0, lengths: [] }
        this.rows[index] = rows
        return this.scanNumbers(position, field.is.of === "integer" ? scanIntegers : scanFloats, field.is.depth, rows)
      }
      case "messages":
        return scanList(text, position, (conversation) =>
          scanList(text, conversation, (message) => {
            const end = freeForm.scanObject(message, 3)
            return freeForm.messageKeys === 3 ? end : 0
          }),
        )
      case "object":
        return freeForm.scanObject(position, 1)
      case "objects":
        return scanList(text, position, (entry) => freeForm.scanObject(entry, 2))
      case "any":
        return freeForm.scanAny(position, 1)
    }
  }

  /** An id as an env has it: no sign, few digits. */
  private scanEnvId(position: number): number {
    const { input } = this.text
    let end = position
    let value = 0
    for (;;) {
      const byte = input[end] ?? 0
      if (byte < 0x30 || byte > 0x39) break
      value = value * 10 + byte - 0x30
      end += 1
    }
    const digits = end - position
    if (digits === 0 || digits > maxIdDigits || (digits > 1 && input[position] === 0x30)) return 0
    this.text.copy(position, end)
    this.envId = value
    return end
  }

  private scanNumbers(position: number, scanRow: typeof scanIntegers, depth: number, rows: Rows): number {
    const { text, row } = this
    if (depth === 1) {
      const end = scanRow(text, position, row)
      rows.count = row.count
      return rows.count > maxRows ? 0 : end
    }
    const end = scanList(text, position, (entry) => {
      if (rows.lengths.length === maxRows) return 0
      if (depth === 2) {
        const rowEnd = scanRow(text, entry, row)
        rows.lengths.push(row.count)
        return rowEnd
      }
      let count = 0
      const rowEnd = scanList(text, entry, (position3) => {
        count += 1
        return scanRow(text, position3, row)
      })
      rows.lengths.push(count)
      return rowEnd
    })
    rows.count = rows.lengths.length
    return end
  }

  private lengthsMatch(tokens: Rows): boolean {
    if (tokens.count === 0) return false
    return groupFields.every((field, index) => {
      const rows = this.rows[index]
      if (rows === null || rows === undefined || field.is.kind !== "numbers") return true
      if (rows.count === 0 && !field.required) return true
      if (rows.count !== tokens.count) return false
      return field.is.lengths === "rows" || rows.lengths.every((length, at) => length === tokens.lengths[at])
    })
  }
}
