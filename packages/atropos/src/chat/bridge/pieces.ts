// Texts in the pieces in which a template wrote them. A long conversation's renderings begin with the same pieces; what
// is told apart by them need not be put together, which would copy the whole history at every turn.

/** Whether the pieces begin alike, and with how many of them. */
export function sharedPieces(one: readonly string[], other: readonly string[]): number {
  const length = Math.min(one.length, other.length)
  let count = 0
  while (count < length && one[count] === other[count]) count += 1
  return count
}

/** The text from a piece on. Adding keeps long texts in their pieces, where join would copy them. */
export function textFrom(pieces: readonly string[], from = 0): string {
  let text = ""
  for (let at = from; at < pieces.length; at += 1) text += pieces[at] ?? ""
  return text
}
