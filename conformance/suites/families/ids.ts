/** Ids as the vectors write them: an array, or base64 of little-endian int32. */
export function readIds(ids: readonly number[] | string): number[] {
  if (typeof ids !== "string") return [...ids]
  const bytes = Buffer.from(ids, "base64")
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readInt32LE(index * 4))
}

/** Where two lists part, with a little of what comes there. */
export function differenceOfIds(what: string, got: readonly number[], expected: readonly number[]): string | undefined {
  const length = Math.max(got.length, expected.length)
  for (let i = 0; i < length; i += 1)
    if (got[i] !== expected[i]) {
      const show = (ids: readonly number[]): string => `[… ${ids.slice(Math.max(0, i - 3), i + 6).join(" ")} …]`
      return `${what} part at ${i}: ${show(got)} (${got.length}), expected ${show(expected)} (${expected.length})`
    }
  return undefined
}

/** Where two texts part. */
export function differenceOfTexts(what: string, got: string, expected: string): string | undefined {
  if (got === expected) return undefined
  let i = 0
  while (got.charAt(i) === expected.charAt(i)) i += 1
  const show = (text: string): string => JSON.stringify(text.slice(Math.max(0, i - 30), i + 40))
  return `${what} parts at ${i}: ${show(got)}, expected ${show(expected)}`
}
