import type { Random } from "../../environment/random.ts"
import type { TaskPack } from "./pack.ts"

const people = [
  "Amara",
  "Bilal",
  "Chiara",
  "Dmitri",
  "Elena",
  "Farid",
  "Grete",
  "Hiro",
  "Ines",
  "Jonas",
  "Keiko",
  "Lwazi",
]
const things = [
  "apples",
  "marbles",
  "stickers",
  "postcards",
  "muffins",
  "pencils",
  "tickets",
  "books",
  "shells",
  "bolts",
]

interface Story {
  question: string
  /** Lines of the solution; the last calculation gives the answer. */
  steps: readonly string[]
  answer: number
}

/** `3 * 4 = <<3*4=12>>12`, as the public rows write their calculations. */
function step(expression: string, value: number): string {
  return `${expression} = <<${expression.replaceAll(" ", "")}=${value}>>${value}`
}

const stories: readonly ((random: Random) => Story)[] = [
  (random) => {
    const [who, what] = [random.pick(people), random.pick(things)]
    const [boxes, each, given] = [random.integer(3, 12), random.integer(4, 20), random.integer(2, 10)]
    const total = boxes * each
    return {
      question: `${who} has ${boxes} boxes with ${each} ${what} in each. ${who} gives ${given} ${what} away. How many ${what} are left?`,
      steps: [
        `There are ${step(`${boxes} * ${each}`, total)} ${what}.`,
        `${step(`${total} - ${given}`, total - given)} are left.`,
      ],
      answer: total - given,
    }
  },
  (random) => {
    const who = random.pick(people)
    const [hours, wage, days, rent] = [
      random.integer(3, 9),
      random.integer(8, 30),
      random.integer(2, 6),
      random.integer(10, 40),
    ]
    const [daily, earned] = [hours * wage, hours * wage * days]
    return {
      question: `${who} works ${hours} hours a day for $${wage} an hour. After ${days} days ${who} pays $${rent} for a bus pass. How many dollars remain?`,
      steps: [
        `A day brings $${step(`${hours} * ${wage}`, daily)}.`,
        `${days} days bring $${step(`${daily} * ${days}`, earned)}.`,
        `$${step(`${earned} - ${rent}`, earned - rent)} remain.`,
      ],
      answer: earned - rent,
    }
  },
  (random) => {
    const [first, second] = random.shuffle(people)
    const what = random.pick(things)
    const [base, factor, extra] = [random.integer(3, 15), random.integer(2, 5), random.integer(1, 12)]
    const more = base * factor
    return {
      question: `${first} has ${base} ${what}. ${second} has ${factor} times as many and finds ${extra} more. How many ${what} do they have together?`,
      steps: [
        `${second} has ${step(`${base} * ${factor}`, more)} ${what} at first.`,
        `Then ${second} has ${step(`${more} + ${extra}`, more + extra)}.`,
        `Together they have ${step(`${base} + ${more + extra}`, base + more + extra)}.`,
      ],
      answer: base + more + extra,
    }
  },
  (random) => {
    const what = random.pick(things)
    const [price, count, off] = [random.integer(2, 12) * 10, random.integer(2, 9), random.pick([10, 20, 30, 40, 50])]
    const reduced = price - (price * off) / 100
    return {
      question: `A crate of ${what} costs $${price}. This week it is ${off}% cheaper. How many dollars do ${count} crates cost this week?`,
      steps: [
        `The price falls by ${off}% of ${price}, $${step(`${price} * ${off} / 100`, (price * off) / 100)}.`,
        `A crate costs $${step(`${price} - ${(price * off) / 100}`, reduced)}.`,
        `${count} crates cost $${step(`${reduced} * ${count}`, reduced * count)}.`,
      ],
      answer: reduced * count,
    }
  },
  (random) => {
    const who = random.pick(people)
    const [speed, hours, rest] = [random.integer(3, 12) * 5, random.integer(2, 6), random.integer(5, 60)]
    const driven = speed * hours
    return {
      question: `${who} cycles ${hours} hours at ${speed} kilometres an hour. The way is ${driven + rest} kilometres long. How many kilometres are left?`,
      steps: [
        `${who} has cycled ${step(`${speed} * ${hours}`, driven)} kilometres.`,
        `${step(`${driven + rest} - ${driven}`, rest)} kilometres are left.`,
      ],
      answer: rest,
    }
  },
  (random) => {
    const who = random.pick(people)
    const what = random.pick(things)
    const [friends, each, kept] = [random.integer(3, 9), random.integer(2, 12), random.integer(1, 9)]
    const total = friends * each + kept
    return {
      question: `${who} has ${total} ${what}, keeps ${kept} and shares the rest equally among ${friends} friends. How many ${what} does each friend get?`,
      steps: [
        `${step(`${total} - ${kept}`, total - kept)} ${what} are shared.`,
        `Each friend gets ${step(`${total - kept} / ${friends}`, each)}.`,
      ],
      answer: each,
    }
  },
  (random) => {
    const who = random.pick(people)
    const [age, years, factor] = [random.integer(4, 15), random.integer(2, 9), random.integer(2, 4)]
    const parent = age * factor
    return {
      question: `${who} is ${age} years old. ${who}'s parent is ${factor} times as old. How old will the parent be in ${years} years?`,
      steps: [
        `The parent is ${step(`${age} * ${factor}`, parent)} years old.`,
        `In ${years} years the age is ${step(`${parent} + ${years}`, parent + years)}.`,
      ],
      answer: parent + years,
    }
  },
  (random) => {
    const [rows, seats, price, sold] = [
      random.integer(5, 20),
      random.integer(6, 20),
      random.integer(5, 15),
      random.integer(5, 25),
    ]
    const all = rows * seats
    return {
      question: `A theatre has ${rows} rows of ${seats} seats. For tonight ${sold} seats stay empty, the others are sold for $${price} each. How many dollars does the theatre take?`,
      steps: [
        `There are ${step(`${rows} * ${seats}`, all)} seats.`,
        `${step(`${all} - ${sold}`, all - sold)} are sold.`,
        `They bring $${step(`${all - sold} * ${price}`, (all - sold) * price)}.`,
      ],
      answer: (all - sold) * price,
    }
  },
]

export const gsm8kPack: TaskPack = {
  name: "gsm8k",
  description: "word problems of two or three steps with whole numbers",
  columns: ["question", "answer"],
  generate(random) {
    const { question, steps, answer } = random.pick(stories)(random)
    return { question, answer: `${steps.join("\n")}\n#### ${answer.toLocaleString("en-US")}` }
  },
}
