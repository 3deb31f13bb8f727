/** A stored group: what is needed to stitch it into an answer. */
export interface Payload {
  segment: Uint8Array
  crc32: number
  jsonBytes: number
  /**
   * Gives the segment's memory back, to be used for other groups: to be called, once, by who has the payload and looks
   * at it no more. Without it the memory is freed when the garbage is collected.
   */
  free?: () => void
}

/** One atomic change: the run's events (JSON texts, opaque to the store) and what they bring and free. */
export interface Commit {
  events: readonly string[]
  /**
   * New groups. Ids are whole numbers, never used twice in the life of a store, also across resets.
   * The store takes the segments over, and frees them: the caller must not touch their buffers any more.
   */
  payloads: readonly (Payload & { groupId: number })[]
  /** Groups that no batch needs any more: they stay up to the retention limit, the oldest go first. */
  released?: readonly number[]
  /** A reset: all groups of earlier commits are released, and what follows belongs to a new run. */
  beginsRun?: boolean
}

export interface Recovered {
  /** The newest snapshot of the run, if one was taken, and the events committed after it, in order. */
  snapshot: string | null
  events: string[]
}

/**
 * Where a run lives.
 *
 * Commits are durable, atomic and in the order of the calls: when one resolves, it and all before it survive a
 * crash. When one rejects (a full disk), nothing of it is kept, and neither is anything of the commits and
 * compactions called behind it before its rejection was seen: they reject too, since they may build on it. What
 * is called after that counts on its own. So what is kept is always a history that the caller can have meant.
 */
export interface Store {
  /** A word for logs and metrics: `memory`, `sqlite`. */
  readonly kind: string
  recover(): Promise<Recovered>
  commit(commit: Commit): Promise<void>
  /**
   * A group of a commit called before, released ones included while they are kept. Waits for that commit.
   * The answer is the store's: do not write into it, and free it when it has been looked at.
   */
  read(groupId: number): Promise<Payload>
  /**
   * Replaces the events so far, those of all commits called before, by `snapshot`, so that recovery stays fast.
   * A commit that is under way may fail: then the compaction rejects with it.
   */
  compact(snapshot: string): Promise<void>
  /** Whether replaying the events would now cost more than a snapshot: the caller may `compact` when it suits. */
  readonly compactionDue: boolean
  /** Bytes of payloads held, released ones included. */
  readonly payloadBytes: number
  /** Waits for the commits under way. Safe to call twice. */
  close(): Promise<void>
}

/** Bytes of released groups that a store keeps, unless told otherwise: 10 GB. */
export const defaultRetainBytes = 10e9
