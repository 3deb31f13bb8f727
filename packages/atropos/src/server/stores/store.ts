/** A stored group: what is needed to stitch it into an answer. */
export interface Payload {
  segment: Uint8Array
  crc32: number
  jsonBytes: number
}

/** One atomic change: the run's events (JSON texts, opaque to the store) and the payloads they bring. */
export interface Commit {
  events: readonly string[]
  payloads: readonly (Payload & { groupId: number })[]
}

export interface Recovered {
  /** The newest snapshot of the run, if one was taken, and the events committed after it, in order. */
  snapshot: string | null
  events: string[]
}

/**
 * Where a run lives. Commits are durable, atomic and in the order of the calls: when one resolves, it and
 * all before it survive a crash. When one rejects (a full disk), nothing of it is kept and later ones may succeed.
 */
export interface Store {
  readonly kind: string
  recover(): Promise<Recovered>
  commit(commit: Commit): Promise<void>
  read(groupId: number): Promise<Payload>
  /** Replaces the events so far by `snapshot`, so that recovery stays fast. */
  compact(snapshot: string): Promise<void>
  /** Groups that no batch needs any more: they stay up to the retention limit, the oldest go first. */
  release(groupIds: readonly number[]): Promise<void>
  /** Bytes of payloads held, released ones included. */
  readonly payloadBytes: number
  close(): Promise<void>
}
