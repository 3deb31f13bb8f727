import { gzipSync } from "node:zlib"

/** A push as a producer sends it. */
export interface BenchPayload {
  /** As Python's json.dumps writes it, with `", "` and `": "`; or compact. */
  spacing: "python" | "compact"
  json: Buffer
  /** Level 9, as the Python environments send it. */
  gzip: Buffer
}

/** Mulberry32: the same payloads in every run. */
function createRandom(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * A group of `sequences` × `length` tokens of a vocabulary of 128k, the common ones more often; the prompt is masked;
 * logprobs have eight digits, and 1.0 where the prompt is.
 */
export function createPayload(
  options: { seed?: number; sequences?: number; length?: number; spacing?: "python" | "compact" } = {},
): BenchPayload {
  const { seed = 1, sequences = 8, length = 4096, spacing = "python" } = options
  const random = createRandom(seed)
  const promptLength = Math.floor(length / 8)
  const prompt = Array.from({ length: promptLength }, () => sampleToken(random))
  const tokens = Array.from({ length: sequences }, () => [
    ...prompt,
    ...Array.from({ length: length - promptLength }, () => sampleToken(random)),
  ])
  const separator = spacing === "python" ? ", " : ","
  const list = (items: readonly string[]): string => `[${items.join(separator)}]`
  const rows = (matrix: readonly (readonly number[])[], format: (value: number, at: number) => string): string =>
    list(matrix.map((row) => list(row.map(format))))
  const colon = spacing === "python" ? ": " : ":"
  const fields = [
    ["tokens", rows(tokens, String)],
    ["masks", rows(tokens, (token, at) => (at < promptLength ? "-100" : String(token)))],
    ["scores", list(tokens.map(() => (random() < 0.5 ? "1.0" : "-1.0")))],
    ["inference_logprobs", rows(tokens, (_, at) => (at < promptLength ? "1.0" : (-(random() ** 4) * 8).toFixed(8)))],
    ...["ref_logprobs", "overrides", "group_overrides"].map((name) => [name, "null"]),
    ["env_id", "0"],
  ]
  const json = Buffer.from(`{${fields.map(([name, value]) => `"${name}"${colon}${value}`).join(separator)}}`)
  return { spacing, json, gzip: gzipSync(json, { level: 9 }) }
}

function sampleToken(random: () => number): number {
  return Math.floor(128_000 * random() ** 2)
}
