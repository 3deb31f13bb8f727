import type { Segment } from "./segment.ts"

/** A group that the fast scanner took. */
export interface ScannedGroup {
  /** Where the text goes on behind the group. */
  end: number
  size: number
  tokens: number
  envId: number | null
}

/**
 * The fast way from a group's text to a segment, in WebAssembly or plain JavaScript. A scanner takes only what is
 * plainly right and plainly spelled, and says null to everything else; the exact path has the last word on that.
 * Both scanners take the same texts and write the same canonical JSON, which is that of the exact path.
 */
export interface Codec {
  /**
   * Inflates a gzip body of at most `limit` bytes and loads it; the text is good until another is loaded or encoded.
   * Null when it does not see at once that all is well: then zlib has the last word.
   */
  inflate(body: Uint8Array, limit: number): Uint8Array | null
  /** The text of a body, in UTF-8, for the scans that follow. */
  load(text: Uint8Array): void
  /** Takes the group that starts at `start` of the loaded text. */
  scan(start: number): ScannedGroup | null
  /** The canonical JSON of the group scanned last; gone with the next call. */
  scannedJson(): Uint8Array
  /** The segment of the group scanned last; in `room`, if it is given and large enough. */
  encodeScanned(room?: Uint8Array): Segment
  /** The segment of any canonical JSON, likewise; forgets the loaded text. */
  encode(json: Uint8Array, room?: Uint8Array): Segment
}

/** Where numbers get a second look: more digits than this in a row, or in an exponent. */
export const maxDigits = 30
export const maxExponentDigits = 2
/** Free-form values nested deeper than this, and objects with more keys, are left to the exact path. */
export const maxFreeFormDepth = 64
export const maxKeys = 32
export const maxRows = 65_536
