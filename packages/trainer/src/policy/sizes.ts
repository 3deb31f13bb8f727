/** The next of 8, 12, 16, 24, 32, …: few different lengths, so that the model is compiled few times. */
export function lengthClass(length: number): number {
  let size = 8
  while (size < length) size = Number.isInteger(Math.log2(size)) ? size * 1.5 : (size / 1.5) * 2
  return size
}
