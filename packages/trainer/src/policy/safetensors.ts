// Weights as a file and as a message: the safetensors format, which PyTorch and JAX tools read as well.
// A little-endian 64-bit header length, a JSON header {name: {dtype, shape, data_offsets}}, then the tensors.
import { z } from "zod"

import { AtroposError } from "atropos-rl"

import { policyConfigSchema, type PolicyConfig } from "./config.ts"
import { createWeights, type Weights } from "./weights.ts"

export interface VersionedWeights {
  weights: Weights
  /** Weight updates that led to them. */
  version: number
}

const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(z.int()),
  data_offsets: z.tuple([z.int(), z.int()]),
})
const headerSchema = z
  .object({ __metadata__: z.object({ version: z.string(), config: z.string() }) })
  .catchall(entrySchema)

export function encodeWeights({ weights, version }: VersionedWeights): Uint8Array<ArrayBuffer> {
  const header: Record<string, unknown> = {
    __metadata__: { version: String(version), config: JSON.stringify(weights.config) },
  }
  let offset = 0
  for (const [name, { shape, data }] of weights.tensors) {
    header[name] = { dtype: "F32", shape, data_offsets: [offset, offset + data.byteLength] }
    offset += data.byteLength
  }
  // Padding with blanks keeps the tensors aligned to eight bytes.
  const text = JSON.stringify(header)
  const head = new TextEncoder().encode(text + " ".repeat((8 - (Buffer.byteLength(text) % 8)) % 8))
  const bytes = new Uint8Array(8 + head.byteLength + offset)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(head.byteLength), true)
  bytes.set(head, 8)
  bytes.set(new Uint8Array(weights.flat.buffer, weights.flat.byteOffset, weights.flat.byteLength), 8 + head.byteLength)
  return bytes
}

/** Reads weights; with `expected` they must be of that very shape. Numbers that are not finite are refused. */
export function decodeWeights(bytes: Uint8Array, expected?: PolicyConfig): VersionedWeights {
  const { header, body } = split(bytes)
  const { __metadata__: metadata, ...entries } = header
  const config = policyConfigSchema.safeParse(parseJson(metadata.config, "their config"))
  if (!config.success) throw refuse(`their config is not one of a policy: ${config.error.issues[0]?.message ?? ""}`)
  const weights = createWeights(expected ?? config.data)
  for (const [name, { shape, data }] of weights.tensors) {
    const entry = entries[name]
    if (entry === undefined) throw refuse(`tensor ${name} is missing`)
    const [start, end] = entry.data_offsets
    if (entry.dtype !== "F32" || entry.shape.join() !== shape.join() || end - start !== data.byteLength) {
      throw refuse(`tensor ${name} must be F32 [${shape.join()}], received ${entry.dtype} [${entry.shape.join()}]`)
    }
    if (start < 0 || end > body.byteLength)
      throw refuse(`tensor ${name} lies outside the ${bytes.byteLength} bytes sent`)
    // A copy begins at an address that floats may have. (WebAssembly machines are little-endian, as the format is.)
    data.set(new Float32Array(new Uint8Array(body.subarray(start, end)).buffer))
    if (!data.every(Number.isFinite)) throw refuse(`tensor ${name} holds numbers that are not finite`)
  }
  const extra = Object.keys(entries).find((name) => !weights.tensors.has(name))
  if (extra !== undefined) throw refuse(`tensor ${extra} is none of this policy`)
  const version = Number(metadata.version)
  if (!Number.isSafeInteger(version) || version < 0) {
    throw refuse(`their version must be an integer >= 0, received ${JSON.stringify(metadata.version)}`)
  }
  return { weights, version }
}

function split(bytes: Uint8Array): { header: z.output<typeof headerSchema>; body: Uint8Array } {
  if (bytes.byteLength < 8) throw refuse(`${bytes.byteLength} bytes hold no header`)
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true))
  if (length > bytes.byteLength - 8) throw refuse(`a header of ${length} bytes does not fit ${bytes.byteLength} bytes`)
  const json = parseJson(new TextDecoder().decode(bytes.subarray(8, 8 + length)), "the header")
  const header = headerSchema.safeParse(json)
  if (!header.success) {
    const issue = header.error.issues[0]
    throw refuse(`the header is not valid at ${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`)
  }
  return { header: header.data, body: bytes.subarray(8 + length) }
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw refuse(`${what} is no JSON`, cause)
  }
}

function refuse(reason: string, cause?: unknown): AtroposError {
  return new AtroposError("bad-weights", `the weights cannot be used: ${reason}`, { cause })
}
