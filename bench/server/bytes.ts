// What the bytes of a push and of a batch cost the trajectory server, each against a baseline of the same run on the
// same payloads: `node bench/server/bytes.ts`. With `--short` it takes seconds and fails on a gross loss.
import { gunzipSync } from "node:zlib"
import { formatRounds, measureRounds, median, type RatioResult } from "./bytes/measure.ts"
import { measureOverHttp } from "./bytes/over-http.ts"
import { createPayload } from "./bytes/payload.ts"
import type { Codec } from "../../packages/atropos/src/server/bytes/codec.ts"
import { prepareGroups } from "../../packages/atropos/src/server/bytes/prepare-groups.ts"
import { createJsCodec } from "../../packages/atropos/src/server/bytes/scan/js-codec.ts"
import { deflateSegment } from "../../packages/atropos/src/server/bytes/segment.ts"
import { createWasmCodec } from "../../packages/atropos/src/server/bytes/wasm/wasm-codec.ts"

const short = process.argv.includes("--short")
const rounds = short ? 3 : 7
const msPerRound = short ? 60 : 250
const limits = { inflatedBytes: 2 ** 31, nesting: 400, sequencesPerGroup: 65_536 }
const ratios: RatioResult[] = []

for (const spacing of ["python", "compact"] as const) measureInProcess(spacing)
ratios.push(
  ...(await measureOverHttp({
    rounds: short ? 2 : 7,
    pushes: short ? 32 : 80,
    polls: short ? 100 : 1500,
    warmUpBatches: short ? 160 : 800,
  })),
)
console.log()
for (const { name, ratio, target } of ratios) {
  console.log(`${name.padEnd(60)} ${ratio.toFixed(2)}   (target ${target}) ${ratio >= target ? "met" : "MISSED"}`)
}
if (short && ratios.some(({ ratio, gross }) => ratio < gross)) {
  console.error("a ratio fell below what this machine's noise explains")
  process.exitCode = 1
}

function measureInProcess(spacing: "python" | "compact"): void {
  const payload = createPayload({ spacing })
  const { json, gzip } = payload
  const bytes = json.length
  const wasm = createWasmCodec()
  if (wasm === null) throw new Error("there is no WebAssembly with SIMD here")
  const js = createJsCodec()
  wasm.load(json)
  wasm.scan(0)
  js.load(json)
  js.scan(0)
  const canonical = Buffer.from(js.scannedJson())
  const encoded = wasm.encode(canonical).segment.length
  const prepareWith = (codec: Codec, body: Buffer, isGzip: boolean) => (): void => {
    const result = prepareGroups({ kind: "one", body, gzip: isGzip, json: true }, limits, codec)
    if (!result.ok) throw new Error(result.refusal.body)
  }
  console.log(
    `\n8 x 4k tokens, ${spacing}: ${bytes} bytes of JSON, ${gzip.length} gzipped at level 9, ` +
      `${encoded} as a segment, ${deflateSegment(canonical).segment.length} deflated at level 1`,
  )
  const results = measureRounds(
    [
      { name: "gunzip", bytes, call: () => gunzipSync(gzip, { chunkSize: bytes + 64 }) },
      { name: "JSON.parse", bytes, call: () => JSON.parse(json.toString("latin1")) },
      { name: "scan, wasm", bytes, call: () => scanWith(wasm, json) },
      { name: "scan, JavaScript", bytes, call: () => scanWith(js, json) },
      { name: "encode, wasm", bytes: canonical.length, call: () => wasm.encode(canonical) },
      { name: "encode, zlib level 1", bytes: canonical.length, call: () => deflateSegment(canonical) },
      { name: "push, gzip body", bytes, call: prepareWith(wasm, gzip, true) },
      { name: "push, plain body", bytes, call: prepareWith(wasm, json, false) },
    ],
    rounds,
    msPerRound,
  )
  for (const [name, values] of results) console.log(formatRounds(name, values, "MB per CPU-s"))
  const gunzip = median(results.get("gunzip") ?? [])
  const against = (name: string, target: number, gross: number): void => {
    ratios.push({
      name: `${name} / gunzip (${spacing})`,
      ratio: median(results.get(name) ?? []) / gunzip,
      target,
      gross,
    })
  }
  against("scan, wasm", 3, 2)
  against("scan, JavaScript", 1, 0.6)
  against("push, gzip body", 0.5, 0.35)
}

function scanWith(codec: Codec, json: Buffer): void {
  codec.load(json)
  if (codec.scan(0) === null) throw new Error("the scanner left the payload to the exact path")
}
