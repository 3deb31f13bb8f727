/** Complex numbers of doubles. Values that are not defined are NaN. */
export interface Complex {
  readonly re: number
  readonly im: number
}

export function complex(re: number, im = 0): Complex {
  return { re, im }
}

export const notDefined: Complex = { re: Number.NaN, im: Number.NaN }

export function plus(a: Complex, b: Complex): Complex {
  return { re: a.re + b.re, im: a.im + b.im }
}

export function minus(a: Complex, b: Complex): Complex {
  return { re: a.re - b.re, im: a.im - b.im }
}

export function times(a: Complex, b: Complex): Complex {
  if (a.im === 0 && b.im === 0) return { re: a.re * b.re, im: 0 }
  return { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
}

export function over(a: Complex, b: Complex): Complex {
  if (b.im === 0) return b.re === 0 ? notDefined : { re: a.re / b.re, im: a.im / b.re }
  const size = b.re * b.re + b.im * b.im
  return { re: (a.re * b.re + a.im * b.im) / size, im: (a.im * b.re - a.re * b.im) / size }
}

export function opposite(a: Complex): Complex {
  return { re: -a.re, im: a.im === 0 ? 0 : -a.im }
}

export function magnitude(a: Complex): number {
  return a.im === 0 ? Math.abs(a.re) : Math.hypot(a.re, a.im)
}

/** Principal logarithm. */
export function logarithm(a: Complex): Complex {
  const size = magnitude(a)
  if (size === 0) return notDefined
  return { re: Math.log(size), im: a.im === 0 ? (a.re < 0 ? Math.PI : 0) : Math.atan2(a.im, a.re) }
}

export function exponential(a: Complex): Complex {
  const size = Math.exp(a.re)
  return a.im === 0 ? { re: size, im: 0 } : { re: size * Math.cos(a.im), im: size * Math.sin(a.im) }
}

/** Principal power; whole exponents of real numbers stay real. */
export function raise(base: Complex, exponent: Complex): Complex {
  if (base.im === 0 && exponent.im === 0) {
    if (base.re === 0) return exponent.re > 0 ? complex(0) : notDefined
    if (base.re > 0 || Number.isInteger(exponent.re)) return complex(base.re ** exponent.re)
  }
  if (exponent.im === 0 && Number.isInteger(exponent.re) && Math.abs(exponent.re) <= 64) {
    return wholePower(base, exponent.re)
  }
  return exponential(times(exponent, logarithm(base)))
}

function wholePower(base: Complex, exponent: number): Complex {
  let result = complex(1)
  let square = base
  for (let rest = Math.abs(exponent); rest > 0; rest >>= 1) {
    if (rest & 1) result = times(result, square)
    square = times(square, square)
  }
  return exponent < 0 ? over(complex(1), result) : result
}

const half = complex(0.5)
const i = complex(0, 1)

export function squareRoot(a: Complex): Complex {
  if (a.im === 0) return a.re >= 0 ? complex(Math.sqrt(a.re)) : complex(0, Math.sqrt(-a.re))
  return raise(a, half)
}

export function sine(a: Complex): Complex {
  if (a.im === 0) return complex(Math.sin(a.re))
  return { re: Math.sin(a.re) * Math.cosh(a.im), im: Math.cos(a.re) * Math.sinh(a.im) }
}

export function cosine(a: Complex): Complex {
  if (a.im === 0) return complex(Math.cos(a.re))
  return { re: Math.cos(a.re) * Math.cosh(a.im), im: -Math.sin(a.re) * Math.sinh(a.im) }
}

export function hyperbolicSine(a: Complex): Complex {
  if (a.im === 0) return complex(Math.sinh(a.re))
  return { re: Math.sinh(a.re) * Math.cos(a.im), im: Math.cosh(a.re) * Math.sin(a.im) }
}

export function hyperbolicCosine(a: Complex): Complex {
  if (a.im === 0) return complex(Math.cosh(a.re))
  return { re: Math.cosh(a.re) * Math.cos(a.im), im: Math.sinh(a.re) * Math.sin(a.im) }
}

export function arcSine(a: Complex): Complex {
  if (a.im === 0 && Math.abs(a.re) <= 1) return complex(Math.asin(a.re))
  // -i log(ia + sqrt(1 - a²))
  const inner = plus(times(i, a), squareRoot(minus(complex(1), times(a, a))))
  return times(complex(0, -1), logarithm(inner))
}

export function arcCosine(a: Complex): Complex {
  if (a.im === 0 && Math.abs(a.re) <= 1) return complex(Math.acos(a.re))
  return minus(complex(Math.PI / 2), arcSine(a))
}

export function arcTangent(a: Complex): Complex {
  if (a.im === 0) return complex(Math.atan(a.re))
  // (i / 2) log((i + a) / (i - a))
  return times(complex(0, 0.5), logarithm(over(plus(i, a), minus(i, a))))
}

export function inverseHyperbolicSine(a: Complex): Complex {
  if (a.im === 0) return complex(Math.asinh(a.re))
  return logarithm(plus(a, squareRoot(plus(times(a, a), complex(1)))))
}

export function inverseHyperbolicCosine(a: Complex): Complex {
  if (a.im === 0 && a.re >= 1) return complex(Math.acosh(a.re))
  return logarithm(plus(a, times(squareRoot(plus(a, complex(1))), squareRoot(minus(a, complex(1))))))
}

export function inverseHyperbolicTangent(a: Complex): Complex {
  if (a.im === 0 && Math.abs(a.re) < 1) return complex(Math.atanh(a.re))
  return times(half, logarithm(over(plus(complex(1), a), minus(complex(1), a))))
}

// Lanczos' approximation of the gamma function with g = 7 and nine terms: about 15 digits.
const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
] as const

/** log Γ(a), up to multiples of 2πi. */
export function logGamma(a: Complex): Complex {
  if (a.re < 0.5) {
    // Γ(a) Γ(1 - a) = π / sin πa
    const reflected = sine(times(complex(Math.PI), a))
    if (magnitude(reflected) < 1e-14) return notDefined
    return minus(logarithm(over(complex(Math.PI), reflected)), logGamma(minus(complex(1), a)))
  }
  const x = minus(a, complex(1))
  let series = complex(lanczos[0])
  for (let index = 1; index < lanczos.length; index++) {
    series = plus(series, over(complex(lanczos[index] ?? 0), plus(x, complex(index))))
  }
  const t = plus(x, complex(7.5))
  const power = times(plus(x, half), logarithm(t))
  return plus(plus(complex(0.5 * Math.log(2 * Math.PI)), minus(power, t)), logarithm(series))
}
