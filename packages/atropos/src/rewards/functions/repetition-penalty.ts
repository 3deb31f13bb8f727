import { z } from "zod"

import { contentOf } from "../completions.ts"
import { defineReward, type RewardKind } from "../reward.ts"

const weights = z.object({
  wordRepetition: z.number().default(0.3).describe("words said more than twice"),
  phraseRepetition: z.number().default(0.4).describe("phrases of three to five words said again"),
  consecutiveRepetition: z.number().default(0.6).describe("a word right behind itself"),
  beginningRepetition: z.number().default(0.5).describe("sentences that begin alike"),
})

const defaultStopwords =
  "this that with from what when where which who whom whose will shall should would could have has had been being than then these there those their"

const options = z.object({
  threshold: z.number().max(0.999).default(0.05).describe("repetition that is forgiven"),
  minWords: z.int().default(10).describe("shorter texts get shortTextPenalty"),
  minSentences: z.int().default(2).describe("texts of fewer sentences get shortTextPenalty"),
  shortTextPenalty: z.number().default(-0.1).describe("for texts too short to judge"),
  paragraphRepetitionBasePenalty: z.number().default(-0.6).describe("for a sentence said again"),
  stopwords: z.array(z.string()).default(defaultStopwords.split(" ")).describe("words that may be said often"),
  componentWeights: weights.partial().default({}).describe("weight of each kind of repetition"),
})
type Options = z.output<typeof options>

export const repetitionPenalty: RewardKind = defineReward({
  name: "repetitionpenalty",
  description: "a penalty down to -1 for saying the same thing again, else 0",
  options,
  create: (settings) => {
    const resolved = weights.parse(settings.componentWeights)
    return (completions) => completions.map((completion) => penalty(contentOf(completion), settings, resolved))
  },
})

/** Sentences of at most this many words may be said again. */
const shortSentence = 3
const smallestPenalty = -0.1

function penalty(text: string, settings: Options, componentWeights: z.output<typeof weights>): number {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
  const sentences = text
    .split(/[.!?]/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "")
  if (words.length < settings.minWords || sentences.length < settings.minSentences) return settings.shortTextPenalty

  const longSentences = sentences.filter((sentence) => sentence.split(/\s+/).length > shortSentence)
  const repeatedSentences = surplus(longSentences)
  if (repeatedSentences > 0) {
    return settings.paragraphRepetitionBasePenalty - 0.4 * Math.min(1, repeatedSentences / sentences.length)
  }
  const rate =
    componentWeights.wordRepetition * wordRate(words, new Set(settings.stopwords)) +
    componentWeights.phraseRepetition * phraseRate(words) +
    componentWeights.consecutiveRepetition * neighbourRate(words) +
    componentWeights.beginningRepetition * beginningRate(sentences)
  if (rate <= settings.threshold) return 0
  return Math.min(-Math.min(1, (rate - settings.threshold) / (1 - settings.threshold)), smallestPenalty)
}

/** How many entries say again what another said before. */
function surplus(entries: readonly string[]): number {
  return entries.length - new Set(entries).size
}

function countEach(entries: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const entry of entries) counts.set(entry, (counts.get(entry) ?? 0) + 1)
  return counts
}

function wordRate(words: readonly string[], stopwords: ReadonlySet<string>): number {
  let repeated = 0
  for (const [word, count] of countEach(words)) {
    if (word.length > 3 && count > 2 && !stopwords.has(word)) repeated += count - 1
  }
  return repeated / words.length
}

function phraseRate(words: readonly string[]): number {
  let repeated = 0
  for (const length of [3, 4, 5]) {
    const phrases: string[] = []
    for (let start = 0; start + length <= words.length; start++) {
      phrases.push(words.slice(start, start + length).join(" "))
    }
    repeated += (surplus(phrases) * length) / 3
  }
  return repeated / words.length
}

function neighbourRate(words: readonly string[]): number {
  const equal = words.filter((word, index) => word.length > 2 && word === words[index + 1]).length
  return equal / words.length
}

function beginningRate(sentences: readonly string[]): number {
  const openings = sentences
    .map((sentence) => sentence.split(/\s+/))
    .filter((words) => words.length >= 3)
    .map((words) => words.slice(0, 3).join(" "))
  return surplus(openings) / sentences.length
}
