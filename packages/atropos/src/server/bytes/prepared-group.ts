/**
 * A checked group as it is stored and sent: its canonical JSON (compact, all 14 keys, floats as floats)
 * as one raw-deflate segment that ends on a byte boundary without a final block, so that segments can be
 * joined into one gzip stream without compressing again.
 */
export interface PreparedGroup {
  /** Sequences in the group. */
  size: number
  /** As sent; `unknown` is an integer no env can have (negative or beyond 2^53). */
  envId: number | "unknown" | null
  segment: Uint8Array
  /** CRC-32 of the canonical JSON. */
  crc32: number
  /** Bytes of the canonical JSON. */
  jsonBytes: number
  /** Tokens over all sequences, for metrics. */
  tokens: number
  /** See `Payload`. */
  free?: () => void
}

/** A refusal, ready to be answered. */
export interface Refusal {
  status: 400 | 408 | 413 | 415 | 422
  contentType: "application/json" | "text/plain"
  body: string
  /** For the counter of rejected groups: one short word such as `json_invalid`. */
  reason: string
}

export type IngestResult = { ok: true; groups: PreparedGroup[]; digest: string } | { ok: false; refusal: Refusal }

/** One body of `/scored_data` (`one`) or `/scored_data_list` (`list`). */
export interface IngestRequest {
  kind: "one" | "list"
  body: Uint8Array
  gzip: boolean
  /** Content-Type is JSON; otherwise the body is refused as the wire contract says. */
  json: boolean
  /**
   * Takes the body's memory back when nobody looks at it any more. With it the caller must not touch the body again:
   * it is looked at, or goes for good, in another thread. Without it large bodies are copied.
   */
  recycle?: (buffer: ArrayBufferLike) => void
}

/** A body and, for the segment of its one group, room that need not be large enough. */
export interface PrepareRequest extends Omit<IngestRequest, "recycle"> {
  room?: Uint8Array
}

export interface IngestLimits {
  inflatedBytes: number
  nesting: number
  sequencesPerGroup: number
}

/** Inflates, checks and encodes bodies, off the main thread when it has workers. */
export interface Ingest {
  /** Rejects with `ingest-overloaded` or `ingest-failed`; both may be retried. */
  ingest(request: IngestRequest): Promise<IngestResult>
  close(): Promise<void>
}
