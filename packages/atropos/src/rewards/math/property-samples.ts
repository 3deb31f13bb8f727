import fc from "fast-check"

/** A number as numerator over denominator, with a notation of it. */
export interface Notation {
  name: string
  write: (value: { units: bigint; places: number }) => string | undefined
}

function digitsOf({ units, places }: { units: bigint; places: number }): { sign: string; whole: string; part: string } {
  const size = String(units < 0n ? -units : units).padStart(places + 1, "0")
  return {
    sign: units < 0n ? "-" : "",
    whole: size.slice(0, size.length - places),
    part: size.slice(size.length - places),
  }
}

function grouped(whole: string, separator: string): string {
  return whole.replaceAll(/\B(?=(?:\d{3})+$)/g, separator)
}

function decimal(value: { units: bigint; places: number }, separator = ""): string {
  const { sign, whole, part } = digitsOf(value)
  return `${sign}${grouped(whole, separator)}${part === "" ? "" : `.${part}`}`
}

/** Ways to write one number in a reply. */
export const notations: readonly Notation[] = [
  { name: "in a box", write: (value) => `\\boxed{${decimal(value)}}` },
  { name: "plain behind an anchor", write: (value) => `The answer is ${decimal(value)}.` },
  { name: "between dollars", write: (value) => `so $${decimal(value)}$` },
  { name: "between brackets", write: (value) => `so \\[ ${decimal(value)} \\]` },
  { name: "with commas", write: (value) => `\\boxed{${decimal(value, ",")}}` },
  { name: "with braced commas", write: (value) => `\\boxed{${decimal(value, "{,}")}}` },
  { name: "with thin spaces", write: (value) => `\\boxed{${decimal(value, "\\,")}}` },
  { name: "plain with commas", write: (value) => `It is ${decimal(value, ",")}` },
  { name: "with zeros behind", write: (value) => `\\boxed{${decimal(value)}${value.places === 0 ? ".0" : "00"}}` },
  { name: "as a fraction", write: ({ units, places }) => `\\boxed{\\frac{${units}}{${10n ** BigInt(places)}}}` },
  {
    name: "as a display fraction",
    write: ({ units, places }) => `\\boxed{\\dfrac{${3n * units}}{${3n * 10n ** BigInt(places)}}}`,
  },
  { name: "as a quotient", write: ({ units, places }) => `\\boxed{${units}/${10n ** BigInt(places)}}` },
  { name: "as a sum", write: (value) => `\\boxed{${decimal(value)} + 7 - 7}` },
  {
    name: "as a product with a power of ten",
    write: ({ units, places }) => `\\boxed{${units} \\times 10^{${-places}}}`,
  },
  { name: "assigned", write: (value) => `\\boxed{x = ${decimal(value)}}` },
  { name: "calculated", write: (value) => `\\boxed{${decimal(value)} + 1 - 1 = ${decimal(value)}}` },
  { name: "with a unit", write: (value) => `\\boxed{${decimal(value)} \\text{ metres}}` },
  { name: "with a unit word", write: (value) => `\\boxed{${decimal(value)} oranges}` },
  { name: "as dollars", write: (value) => (value.units < 0n ? undefined : `\\boxed{\\$${decimal(value, ",")}}`) },
  { name: "as a percentage", write: ({ units, places }) => `\\boxed{${decimal({ units: units * 100n, places })}\\%}` },
  { name: "with a Unicode minus", write: (value) => `\\boxed{${decimal(value).replace("-", "−")}}` },
  { name: "with leading zeros", write: (value) => `\\boxed{${decimal(value).replace(/^(-?)/, "$100")}}` },
  { name: "bold", write: (value) => `**\\boxed{\\mathbf{${decimal(value)}}}**` },
  {
    name: "after thinking of another",
    write: (value) =>
      `First \\boxed{31337}; but no, that was a guess, and a long and careful look at everything from the start says otherwise: \\boxed{${decimal(value)}}`,
  },
]

/** Numbers with up to six decimal places: what rounding to six places keeps apart. */
export const numbers: fc.Arbitrary<{ units: bigint; places: number }> = fc.record({
  units: fc.oneof(fc.bigInt(-1_000n, 1_000n), fc.bigInt(-(10n ** 15n), 10n ** 15n)),
  places: fc.constantFrom(0, 0, 0, 1, 2, 3, 6),
})

/** The same number with one digit changed. */
export function withChangedDigit(
  { units, places }: { units: bigint; places: number },
  position: number,
  digit: number,
): { units: bigint; places: number } {
  const digits = String(units < 0n ? -units : units).split("")
  const index = position % digits.length
  digits[index] = String((Number(digits[index]) + 1 + (digit % 9)) % 10)
  const size = BigInt(digits.join(""))
  return { units: units < 0n ? -size : size, places }
}

const pieces = [
  "\\frac",
  "{",
  "}",
  "(",
  ")",
  "[",
  "]",
  "\\sqrt",
  "^",
  "_",
  "1",
  "2",
  "37",
  "999999",
  "0.5",
  ".",
  "x",
  "y",
  "e",
  "i",
  "\\pi",
  "\\infty",
  "+",
  "-",
  "*",
  "/",
  "!",
  "%",
  "|",
  "\\left(",
  "\\right)",
  "\\boxed{",
  "\\text{",
  "\\sum_{k=1}^{10}",
  "\\prod",
  "\\binom",
  "\\begin{pmatrix}",
  "\\end{pmatrix}",
  "&",
  "\\\\",
  ",",
  ";",
  "=",
  "<",
  "\\le",
  "\\cup",
  "\\pm",
  "$",
  "$$",
  "\\[",
  "\\]",
  "\\(",
  "\\)",
  " ",
  "\n",
  "answer: ",
  "final answer is ",
  "and",
  "or",
  "10^{",
  "^{9}",
  "!!!!",
  "\\log_",
  "\\sin",
  "\\int",
  "\\lfloor",
  "\\rfloor",
  "\\{",
  "\\}",
  "\\overline{",
  "1,000",
  "{,}",
  "−",
  "√",
  "²",
  "½",
  "f(",
  "g^{-1}(",
  "\\begin{array}{cc}",
  "\\end{array}",
  "\\mathbb{R}",
  "\\in",
  "\\setminus",
  "x_{",
  "''",
  "\\%",
  "percent",
  "apples",
  "cm",
  "I hope it is correct.",
  "<think>",
  "</think>",
  "\\begin{cases}",
  "\\end{cases}",
  "\\lim_{x\\to 0}",
  "\\pmod{7}",
  ":",
]

/** Texts of mathematical pieces in any order, of any Unicode text, and of one piece many times over. */
export const wildTexts: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.array(fc.constantFrom(...pieces), { maxLength: 120 }).map((list) => list.join("")) },
  {
    weight: 3,
    arbitrary: fc.array(fc.constantFrom(...pieces), { maxLength: 80 }).map((list) => `\\boxed{${list.join("")}}`),
  },
  { weight: 3, arbitrary: fc.array(fc.constantFrom(...pieces), { maxLength: 80 }).map((list) => `$${list.join("")}$`) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 300 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...pieces), fc.constantFrom(...pieces), fc.integer({ min: 1, max: 3000 }))
      .map(([a, b, times]) => (a + b).repeat(times)),
  },
)
