import type { Random } from "../../environment/random.ts"
import { greatestCommonDivisor } from "../../rewards/math/numbers/rational.ts"
import type { TaskPack } from "./pack.ts"

interface Problem {
  problem: string
  solution: string
  answer: string
  subject: string
  level: number
}

const problems: readonly ((random: Random) => Problem)[] = [
  (random) => {
    const [a, b, x] = [random.integer(2, 9), random.integer(-12, 12), random.integer(-9, 9)]
    const right = a * x + b
    return {
      problem: `Solve for $x$: $${a}x${signed(b)} = ${right}$.`,
      solution: `$${a}x = ${right - b}$, so $x = ${x}$.`,
      answer: String(x),
      subject: "Prealgebra",
      level: 1,
    }
  },
  (random) => {
    const [p, q] = [random.integer(-9, 9), random.integer(-9, 9)]
    const [low, high] = [Math.min(p, q), Math.max(p, q)]
    return {
      problem: `Find all real roots of $x^2${signed(-(p + q), "x")}${signed(p * q)} = 0$. Separate them by a comma.`,
      solution: `The left side is $(x${signed(-p)})(x${signed(-q)})$.`,
      answer: low === high ? String(low) : `${low},${high}`,
      subject: "Algebra",
      level: 2,
    }
  },
  (random) => {
    const [a, b, c, d] = [random.integer(1, 9), random.integer(2, 9), random.integer(1, 9), random.integer(2, 9)]
    return {
      problem: `Compute $\\frac{${a}}{${b}} + \\frac{${c}}{${d}}$ as a fraction in lowest terms.`,
      solution: `Over the common denominator $${b * d}$ the sum is $\\frac{${a * d + c * b}}{${b * d}}$.`,
      answer: latexFraction(a * d + c * b, b * d),
      subject: "Prealgebra",
      level: 2,
    }
  },
  (random) => {
    const [root, factor] = [random.integer(2, 9), random.pick([2, 3, 5, 6, 7, 10, 11])]
    return {
      problem: `Simplify $\\sqrt{${root * root * factor}}$.`,
      solution: `$${root * root * factor} = ${root}^2 \\cdot ${factor}$.`,
      answer: `${root}\\sqrt{${factor}}`,
      subject: "Algebra",
      level: 2,
    }
  },
  (random) => {
    const [n, k] = [random.integer(5, 12), random.integer(2, 4)]
    let ways = 1
    for (let index = 1; index <= k; index++) ways = (ways * (n - k + index)) / index
    return {
      problem: `In how many ways can a team of ${k} be chosen from ${n} people?`,
      solution: `There are $\\binom{${n}}{${k}} = ${ways}$ ways.`,
      answer: String(ways),
      subject: "Counting & Probability",
      level: 3,
    }
  },
  (random) => {
    const [a, b, c, d] = [random.integer(-6, 6), random.integer(-6, 6), random.integer(-6, 6), random.integer(-6, 6)]
    return {
      problem: `Let $z = ${complexText(a, b)}$ and $w = ${complexText(c, d)}$. Compute $zw$.`,
      solution: `Multiply out and use $i^2 = -1$.`,
      answer: complexText(a * c - b * d, a * d + b * c),
      subject: "Intermediate Algebra",
      level: 3,
    }
  },
  (random) => {
    const [low, high] = [random.integer(-9, 0), random.integer(1, 9)]
    return {
      problem: `For which real $x$ is $(x${signed(-low)})(x${signed(-high)}) < 0$? Answer with an interval.`,
      solution: `The product is negative between its roots.`,
      answer: `(${low},${high})`,
      subject: "Intermediate Algebra",
      level: 3,
    }
  },
  (random) => {
    const radius = random.integer(2, 30)
    return {
      problem: `What is the area of a circle of radius ${radius}?`,
      solution: `It is $\\pi \\cdot ${radius}^2$.`,
      answer: `${radius * radius}\\pi`,
      subject: "Geometry",
      level: 1,
    }
  },
  (random) => {
    const [modulus, base, exponent] = [random.pick([7, 9, 11, 13]), random.integer(2, 12), random.integer(3, 30)]
    let rest = 1
    for (let index = 0; index < exponent; index++) rest = (rest * base) % modulus
    return {
      problem: `What is the remainder when $${base}^{${exponent}}$ is divided by ${modulus}?`,
      solution: `Powers of ${base} modulo ${modulus} repeat.`,
      answer: String(rest),
      subject: "Number Theory",
      level: 4,
    }
  },
  (random) => {
    const [a, b] = [random.integer(1, 5), random.integer(1, 5)]
    return {
      problem: `Expand $(x + ${a})(x - ${b})$.`,
      solution: `Multiply each term of one bracket with each of the other.`,
      answer: `x^2${signed(a - b, "x")} - ${a * b}`,
      subject: "Algebra",
      level: 1,
    }
  },
]

export const mathPack: TaskPack = {
  name: "math",
  description: "short problems of algebra, geometry, counting and number theory with answers in LaTeX",
  columns: ["problem", "solution", "answer", "subject", "level", "unique_id", "question", "final_answer"],
  generate(random, index) {
    const made = random.pick(problems)(random)
    return { ...made, unique_id: `builtin/math/${index}`, question: made.problem, final_answer: made.answer }
  },
}

/** A further term with its sign; nothing for 0. */
function signed(value: number, letter = ""): string {
  if (value === 0) return ""
  const size = letter !== "" && Math.abs(value) === 1 ? letter : `${Math.abs(value)}${letter}`
  return value < 0 ? ` - ${size}` : ` + ${size}`
}

function latexFraction(numerator: number, denominator: number): string {
  const divisor = Number(greatestCommonDivisor(BigInt(numerator), BigInt(denominator)))
  const [top, bottom] = [numerator / divisor, denominator / divisor]
  return bottom === 1 ? String(top) : `\\frac{${top}}{${bottom}}`
}

function complexText(re: number, im: number): string {
  if (im === 0) return String(re)
  const size = Math.abs(im) === 1 ? "i" : `${Math.abs(im)}i`
  if (re === 0) return im < 0 ? `-${size}` : size
  return `${re} ${im < 0 ? "-" : "+"} ${size}`
}
