// Vocabularies with byte fallback write characters that they lack as a token a byte.

const byteToken = /^<0x([0-9A-Fa-f]{2})>$/
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The byte that a token of such a vocabulary stands for. */
export function byteOf(token: string | undefined): number | undefined {
  const digits = token === undefined ? undefined : byteToken.exec(token)?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 16)
}

/** Text of a run of byte tokens. As in the reference, one that is no UTF-8 throughout is U+FFFD for each of its bytes. */
export function textOfBytes(bytes: readonly number[]): string {
  try {
    return utf8.decode(Uint8Array.from(bytes))
  } catch {
    return "\uFFFD".repeat(bytes.length)
  }
}
