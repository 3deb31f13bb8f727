// CRC-32 of two pieces put together, from the CRC of each. Appending n bytes multiplies the first CRC, as a polynomial
// over GF(2), by x^(8n) modulo the CRC's polynomial; powers x^(2^k) make that a few multiplications.
// The bits are reflected, as in gzip: x^0 is the highest bit.

const polynomial = 0xedb88320

function multiply(a: number, b: number): number {
  let product = 0
  for (let bit = 0x80000000; bit !== 0; bit >>>= 1) {
    if ((a & bit) !== 0) product ^= b
    b = (b & 1) === 0 ? b >>> 1 : (b >>> 1) ^ polynomial
  }
  return product >>> 0
}

/** x^(2^k) for k from 0 on; x has order 2^32 - 1, so the powers repeat after 32. */
const powers: readonly number[] = computePowers()

function computePowers(): number[] {
  const result = [0x40000000]
  while (result.length < 32) {
    const last = result.at(-1) ?? 0
    result.push(multiply(last, last))
  }
  return result
}

/** x^(8 * bytes). */
function shiftOperator(bytes: number): number {
  let operator = 0x80000000
  // Eight is 2^3: the lowest bit of `bytes` stands for x^(2^3).
  for (let k = 3; bytes > 0; k += 1) {
    if (bytes % 2 === 1) operator = multiply(powers[k % 32] ?? 0, operator)
    bytes = Math.floor(bytes / 2)
  }
  return operator
}

/** The CRC-32 of A followed by B, from the CRC-32 of each and the length of B in bytes. */
export function combineCrc32(a: number, b: number, bytesOfB: number): number {
  return (multiply(shiftOperator(bytesOfB), a) ^ b) >>> 0
}
