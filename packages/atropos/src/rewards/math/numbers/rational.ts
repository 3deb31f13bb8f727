/** An exact fraction in lowest terms; the denominator is positive. */
export interface Rational {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** Exact results larger than this are not built; callers fall back to floating point. */
export const maxBits = 20_000

export const zero: Rational = { numerator: 0n, denominator: 1n }
export const one: Rational = { numerator: 1n, denominator: 1n }
export const hundred: Rational = { numerator: 100n, denominator: 1n }

export function integer(value: bigint | number): Rational {
  return { numerator: BigInt(value), denominator: 1n }
}

/** `numerator / denominator` in lowest terms; undefined for a zero denominator. */
export function fraction(numerator: bigint, denominator: bigint): Rational | undefined {
  if (denominator === 0n) return undefined
  if (denominator === 1n) return { numerator, denominator }
  const divisor = greatestCommonDivisor(numerator, denominator)
  const sign = denominator < 0n ? -1n : 1n
  return { numerator: (sign * numerator) / divisor, denominator: (sign * denominator) / divisor }
}

export function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b]
  while (y !== 0n) [x, y] = [y, x % y]
  return x === 0n ? 1n : x
}

/** Digits with an optional point and an optional exponent: `12`, `0.5`, `.5`, `1.5e3`. */
export function parseDecimal(text: string): Rational | undefined {
  const match = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,5}))?$/.exec(text)
  if (match === null) return undefined
  const [, sign, whole = "", part = "", exponentText] = match
  if (whole === "" && part === "") return undefined
  const digits = BigInt(whole + part) * (sign === "-" ? -1n : 1n)
  const exponent = Number(exponentText ?? 0) - part.length
  if (Math.abs(exponent) > maxBits / 4) return undefined
  return exponent >= 0 ? integer(digits * 10n ** BigInt(exponent)) : fraction(digits, 10n ** BigInt(-exponent))
}

export function add(a: Rational, b: Rational): Rational {
  if (a.denominator === 1n && b.denominator === 1n) return integer(a.numerator + b.numerator)
  return fraction(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator) ?? zero
}

export function negate(a: Rational): Rational {
  return { numerator: -a.numerator, denominator: a.denominator }
}

export function multiply(a: Rational, b: Rational): Rational {
  return fraction(a.numerator * b.numerator, a.denominator * b.denominator) ?? zero
}

export function divide(a: Rational, b: Rational): Rational | undefined {
  return fraction(a.numerator * b.denominator, a.denominator * b.numerator)
}

/** Exact power; undefined for 0 to a negative power and for results beyond `maxBits`. */
export function power(base: Rational, exponent: bigint): Rational | undefined {
  if (exponent === 0n) return base.numerator === 0n ? undefined : one
  const isUnit = base.denominator === 1n && base.numerator >= -1n && base.numerator <= 1n
  if (!isUnit) {
    const size = exponent < 0n ? -exponent : exponent
    if (size > BigInt(maxBits)) return undefined
    if (Number(size) * bitLength(base) > maxBits) return undefined
  }
  if (exponent < 0n) {
    const inverse = fraction(base.denominator, base.numerator)
    return inverse === undefined ? undefined : power(inverse, -exponent)
  }
  if (isUnit) return exponent % 2n === 0n ? multiply(base, base) : base
  return { numerator: base.numerator ** exponent, denominator: base.denominator ** exponent }
}

/** The exact `index`-th root if there is a rational one. */
export function root(value: Rational, index: number): Rational | undefined {
  const negative = value.numerator < 0n
  if (negative && index % 2 === 0) return undefined
  const numerator = integerRoot(negative ? -value.numerator : value.numerator, index)
  const denominator = integerRoot(value.denominator, index)
  if (numerator === undefined || denominator === undefined) return undefined
  return { numerator: negative ? -numerator : numerator, denominator }
}

function integerRoot(value: bigint, index: number): bigint | undefined {
  if (value < 2n) return value
  const bits = value.toString(16).length * 4
  if (bits > 4000) return undefined
  let low = 1n
  let high = 1n << BigInt(Math.ceil(bits / index) + 1)
  while (low < high) {
    const middle = (low + high + 1n) >> 1n
    if (middle ** BigInt(index) <= value) low = middle
    else high = middle - 1n
  }
  return low ** BigInt(index) === value ? low : undefined
}

export function compare(a: Rational, b: Rational): number {
  const left = a.numerator * b.denominator
  const right = b.numerator * a.denominator
  return left < right ? -1 : left > right ? 1 : 0
}

export function equals(a: Rational, b: Rational): boolean {
  return a.numerator === b.numerator && a.denominator === b.denominator
}

/** Rough size of the larger of numerator and denominator, in bits. */
export function bitLength({ numerator, denominator }: Rational): number {
  return Math.max(bitsOf(numerator), denominator === 1n ? 1 : bitsOf(denominator))
}

function bitsOf(value: bigint): number {
  if (value >= -0xffffffffn && value <= 0xffffffffn) return 32 - Math.clz32(Math.abs(Number(value)))
  return value.toString(16).length * 4
}

/** `round(value * 10^places)`, halves away from zero. */
export function roundToPlaces(value: Rational, places: number): bigint {
  const scaled = value.numerator * 10n ** BigInt(places) * 2n
  const [size, sign] = scaled < 0n ? [-scaled, -1n] : [scaled, 1n]
  return (sign * (size + value.denominator)) / (2n * value.denominator)
}

export function toNumber(value: Rational): number {
  const direct = Number(value.numerator) / Number(value.denominator)
  if (Number.isFinite(direct) && (direct !== 0 || value.numerator === 0n)) return direct
  // One of the two is beyond the range of a double: drop the same number of low bits from both.
  const excess = BigInt(Math.max(0, bitLength(value) - 1000))
  return Number(value.numerator >> excess) / Number(value.denominator >> excess)
}
