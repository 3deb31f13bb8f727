import type { Codec } from "../codec.ts"
import { checkGroup } from "../exact/exact-group.ts"
import { checkJson, skipSpace } from "../json/json-check.ts"
import { isUtf8 } from "node:buffer"

/** What one way makes of a text: canonical JSON with its counts, or null for a refusal. */
interface Outcome {
  json: string
  size: number
  tokens: number
  envId: number | "unknown" | null
}

/** Says how the scanners and the exact path contradict each other on a text; null when they do not. */
export function findContradiction(codecs: Readonly<Record<string, Codec>>, text: string): string | null {
  const bytes = Buffer.from(text)
  if (!isUtf8(bytes)) return null
  const exact = takeExactly(bytes)
  const scanned = Object.entries(codecs).map(([name, codec]) => ({ name, outcome: scan(codec, bytes) }))
  const first = scanned[0]
  for (const { name, outcome } of scanned) {
    if (JSON.stringify(outcome) !== JSON.stringify(first?.outcome)) {
      return `${name} and ${first?.name ?? ""} differ: ${JSON.stringify(outcome)} and ${JSON.stringify(first?.outcome)}`
    }
    if (outcome !== null && JSON.stringify(outcome) !== JSON.stringify(exact)) {
      return `${name} took ${JSON.stringify(outcome)}, the exact path ${JSON.stringify(exact)}`
    }
  }
  return null
}

/** Whether the scanners take the text. */
export function isScanned(codec: Codec, text: string): boolean {
  return scan(codec, Buffer.from(text)) !== null
}

function scan(codec: Codec, bytes: Uint8Array): Outcome | null {
  codec.load(bytes)
  const scanned = codec.scan(skipSpace(bytes, 0))
  if (scanned === null || skipSpace(bytes, scanned.end) !== bytes.length) return null
  const { size, tokens, envId } = scanned
  return { json: Buffer.from(codec.scannedJson()).toString(), size, tokens, envId }
}

function takeExactly(bytes: Uint8Array): Outcome | null {
  try {
    checkJson(bytes, 400)
  } catch {
    return null
  }
  const start = skipSpace(bytes, 0)
  const checked = checkGroup(bytes, start, bytes.length, ["body"], 65_536)
  if (Array.isArray(checked)) return null
  const { json, size, tokens, envId } = checked
  return { json: Buffer.from(json).toString(), size, tokens, envId }
}
