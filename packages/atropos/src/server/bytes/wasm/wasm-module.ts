import { readFileSync } from "node:fs"
import { type CodeTable, endOfBlock, numberTable, textTable } from "../encode/tables.ts"
import { type FieldKind, groupFields } from "../group-fields.ts"

// What is used of WebAssembly: the types of Node do not declare it without those of browsers.
declare const WebAssembly: {
  validate(bytes: Uint8Array): boolean
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: Record<string, unknown> }
  Global: new () => { value: unknown }
}

/** What the module exports: see assembly/index.ts. Positions are addresses in its memory. */
export interface CodecExports {
  memory: { buffer: ArrayBuffer; grow(pages: number): void }
  scanGroup(position: number, output: number): number
  encode(from: number, length: number, target: number): number
  inflate(from: number, fromEnd: number, to: number, toLimit: number): number
  /** Where the last `inflate` came to in its input and output. */
  inflateInputEnd: { value: number }
  inflateOutputEnd: { value: number }
  fields: number
  fieldSize: number
  result: number
  shuffles: number
  codeTables: number
  codesSize: number
  pairs: number
  singles: number
  headers: number
  buffers: number
}

const pageSize = 65_536

/** The module's memory, as it is now. */
export interface MemoryView {
  bytes: Uint8Array<ArrayBuffer>
  data: DataView
  /** Makes sure that the memory reaches up to `end`. */
  grow(end: number): void
}

/** A fresh instance with its tables filled; null where there is no WebAssembly or it has no SIMD. */
export function instantiateCodec(): { exports: CodecExports; view: MemoryView } | null {
  const bytes = readFileSync(new URL("./codec.wasm", import.meta.url))
  if (!("WebAssembly" in globalThis) || !WebAssembly.validate(bytes)) return null
  const raw = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports
  const exports = readExports(raw)
  const { memory } = exports
  const view: MemoryView = {
    bytes: new Uint8Array(),
    data: new DataView(new ArrayBuffer(0)),
    grow(end) {
      const missing = end - memory.buffer.byteLength
      if (missing <= 0) return
      memory.grow(Math.ceil(missing / pageSize))
      refresh()
    },
  }
  const refresh = (): void => {
    view.bytes = new Uint8Array(memory.buffer)
    view.data = new DataView(memory.buffer)
  }
  refresh()
  view.grow(exports.buffers)
  writeFields(view.bytes, exports)
  writeShuffles(view.bytes, exports)
  for (const [index, table] of [numberTable, textTable].entries()) {
    writeCodes(view, exports.codeTables + index * exports.codesSize, table, exports)
  }
  return { exports, view }
}

function readExports(raw: Record<string, unknown>): CodecExports {
  const constant = (name: string): number => {
    const value = raw[name]
    if (!(value instanceof WebAssembly.Global)) throw new TypeError(`codec.wasm has no constant ${name}; rebuild it`)
    return Number(value.value)
  }
  return {
    memory: raw["memory"] as CodecExports["memory"],
    scanGroup: raw["scanGroup"] as CodecExports["scanGroup"],
    encode: raw["encode"] as CodecExports["encode"],
    inflate: raw["inflate"] as CodecExports["inflate"],
    inflateInputEnd: raw["inflateInputEnd"] as CodecExports["inflateInputEnd"],
    inflateOutputEnd: raw["inflateOutputEnd"] as CodecExports["inflateOutputEnd"],
    fields: constant("FIELDS"),
    fieldSize: constant("FIELD_SIZE"),
    result: constant("RESULT"),
    shuffles: constant("SHUFFLES"),
    codeTables: constant("CODE_TABLES"),
    codesSize: constant("CODES_SIZE"),
    pairs: constant("PAIRS"),
    singles: constant("SINGLES"),
    headers: constant("HEADERS"),
    buffers: constant("BUFFERS"),
  }
}

/** The fields as assembly/group.ts reads them. */
function writeFields(bytes: Uint8Array, exports: CodecExports): void {
  for (const [index, { name, required, is }] of groupFields.entries()) {
    const at = exports.fields + index * exports.fieldSize
    const depth = is.kind === "numbers" ? is.depth : 0
    const sameLengths = is.kind === "numbers" && is.lengths === "positions"
    bytes.set([name.length, kindCode(is), depth, Number(required), Number(sameLengths)], at)
    bytes.set(Buffer.from(name), at + 5)
    const missing = Buffer.from(`,"${name}":null`)
    bytes[at + 32] = missing.length
    bytes.set(missing, at + 33)
  }
}

function kindCode(is: FieldKind): number {
  switch (is.kind) {
    case "integer":
      return 0
    case "numbers":
      return is.of === "integer" ? 1 : 2
    case "messages":
      return 3
    case "object":
      return 4
    case "objects":
      return 5
    case "any":
      return 6
  }
}

/** For each mask of blanks among eight bytes: where the others come from. */
function writeShuffles(bytes: Uint8Array, exports: CodecExports): void {
  for (let mask = 0; mask < 256; mask += 1) {
    const kept = [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (mask & (1 << bit)) === 0)
    bytes.set(kept, exports.shuffles + mask * 8)
  }
}

function writeCodes({ bytes, data }: MemoryView, at: number, table: CodeTable, exports: CodecExports): void {
  const code = (symbol: number): number => table.codes[symbol] ?? 0
  const length = (symbol: number): number => table.lengths[symbol] ?? 0
  const pack = (value: number, bits: number): number => (value | (bits << 26)) >>> 0
  for (let second = 0; second < 256; second += 1) {
    const secondCode = code(second)
    const secondLength = length(second)
    for (let first = 0; first < 256; first += 1) {
      const firstLength = length(first)
      const both = pack(code(first) + (secondCode << firstLength), firstLength + secondLength)
      data.setUint32(at + exports.pairs + (second * 256 + first) * 4, both, true)
    }
  }
  for (let symbol = 0; symbol <= endOfBlock; symbol += 1) {
    data.setUint32(at + exports.singles + symbol * 4, pack(code(symbol), length(symbol)), true)
  }
  data.setUint32(at + exports.singles + 285 * 4, pack(table.copy4.code, table.copy4.length), true)
  data.setUint32(at + exports.singles + 286 * 4, pack(table.copy5.code, table.copy5.length), true)
  data.setUint32(at + exports.headers, table.header.length, true)
  bytes.set(table.header.bytes, at + exports.headers + 4)
}
