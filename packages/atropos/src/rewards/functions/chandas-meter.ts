import { z } from "zod"

import { contentOf } from "../completions.ts"
import { defineReward, type RewardKind, type RewardServices } from "../reward.ts"

export const chandasMeter: RewardKind = defineReward({
  name: "chandasmeter",
  description: "how well a Sanskrit verse keeps a metre, by a classifier",
  options: z.object({ meter: z.string().default("tristubh").describe("the wanted metre") }),
  create:
    ({ meter }, { classifyMetre }) =>
    (completions) =>
      Promise.all(completions.map((completion) => metreScore(contentOf(completion), meter, classifyMetre))),
})

async function metreScore(verse: string, wanted: string, classify: RewardServices["classifyMetre"]): Promise<number> {
  if (classify === undefined) return 0
  try {
    const found = await classify(transliterateToSlp1(verse))
    if (found === undefined) return 0
    const matches = found.name.toLowerCase() === wanted.toLowerCase()
    if (found.score === undefined) return matches ? 1 : 0
    return Math.min(1, Math.max(0, matches ? found.score : 1 - found.score))
  } catch {
    // A verse that the classifier cannot read is in no metre.
    return 0
  }
}

// IAST to SLP1; pairs of letters come first.
const letters: readonly (readonly [string, string])[] = [
  ["ai", "E"],
  ["au", "O"],
  ["kh", "K"],
  ["gh", "G"],
  ["ch", "C"],
  ["jh", "J"],
  ["ṭh", "W"],
  ["ḍh", "Q"],
  ["th", "T"],
  ["dh", "D"],
  ["ph", "P"],
  ["bh", "B"],
  ["ā", "A"],
  ["ī", "I"],
  ["ū", "U"],
  ["ṛ", "f"],
  ["ṝ", "F"],
  ["ḷ", "x"],
  ["ḹ", "X"],
  ["ṃ", "M"],
  ["ḥ", "H"],
  ["ṅ", "N"],
  ["ñ", "Y"],
  ["ṭ", "w"],
  ["ḍ", "q"],
  ["ṇ", "R"],
  ["ś", "S"],
  ["ṣ", "z"],
]
const byLetter = new Map(letters.map(([from, to]) => [from.normalize("NFC"), to]))
const anyLetter = new RegExp(letters.map(([from]) => from.normalize("NFC")).join("|"), "g")

/** Sanskrit in IAST as SLP1, one letter a sound; other characters stay. */
export function transliterateToSlp1(text: string): string {
  return text.normalize("NFC").replaceAll(anyLetter, (letter) => byLetter.get(letter) ?? letter)
}
