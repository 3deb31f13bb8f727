/** Random numbers that a seed fixes. Sources made by `fork` with one label are the same whatever was drawn before. */
export interface Random {
  /** In [0, 1). */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number
  pick<Value>(values: readonly Value[]): Value
  /** A shuffled copy. */
  shuffle<Value>(values: Iterable<Value>): Value[]
  /** An independent source, fixed by this one's seed and the label. */
  fork(label: string | number): Random
  /** A seed for others (samplers): 31 bits, fixed by this source's seed and the label. */
  seedFor(label: string | number): number
}

export function createRandom(seed: number | string): Random {
  const origin = String(seed)
  const next = createSfc32(hash(origin))
  const integer = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    integer,
    pick(values) {
      if (values.length === 0) throw new RangeError("pick: there is nothing to pick from")
      return values[integer(0, values.length - 1)] as (typeof values)[number]
    },
    shuffle(values) {
      const shuffled = [...values]
      for (let last = shuffled.length - 1; last > 0; last--) {
        const other = integer(0, last)
        const moved = shuffled[last] as (typeof shuffled)[number]
        shuffled[last] = shuffled[other] as (typeof shuffled)[number]
        shuffled[other] = moved
      }
      return shuffled
    },
    fork: (label) => createRandom(`${origin}/${label}`),
    seedFor: (label) => hash(`${origin}/${label}`)[0] >>> 1,
  }
}

type Words = [number, number, number, number]

/** Four 32-bit words of a text (FNV-1a with four offsets, each mixed with murmur's finaliser). */
function hash(text: string): Words {
  const words: Words = [0x811c9dc5, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35]
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    for (let word = 0; word < 4; word++) {
      words[word] = Math.imul((words[word] ?? 0) ^ (unit + word), 0x01000193)
    }
  }
  return words.map((word) => mix(word)) as Words
}

function mix(word: number): number {
  let value = word
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}

/** Doty-Humphrey's small fast counting generator; twelve rounds spread the seed. */
function createSfc32(seed: Words): () => number {
  let [a, b, c, counter] = seed
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / 0x1_0000_0000
  }
  for (let round = 0; round < 12; round++) next()
  return next
}
