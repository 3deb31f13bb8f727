import type { TaskPack } from "./pack.ts"

const topics = [
  "sourdough bread",
  "night trains",
  "beekeeping",
  "volcanoes",
  "chess openings",
  "old maps",
  "tide pools",
  "fountain pens",
]
const wishes = [
  (topic: string) => `Explain ${topic} to somebody who has never heard of it.`,
  (topic: string) => `Give me three surprising facts about ${topic}.`,
  (topic: string) => `Write a short letter to a friend about ${topic}.`,
  (topic: string) => `What should a beginner know about ${topic}?`,
  (topic: string) => `Make up a title and a first sentence for a book about ${topic}.`,
]
const followUps = [
  "Make it shorter, please.",
  "Can you say that more cheerfully?",
  "Add one example.",
  "Now as a list.",
]

export const preferencesPack: TaskPack = {
  name: "preferences",
  description: "open requests without a right answer, for judging replies by a preference",
  columns: ["conversation"],
  generate(random, index) {
    const topic = random.pick(topics)
    const conversation = [
      { role: "user", content: random.pick(wishes)(topic) },
      {
        role: "assistant",
        content: `Gladly. There is a lot to say about ${topic}, and the best part is how it began.`,
      },
    ]
    for (let turn = random.integer(0, 2); turn > 0; turn--) {
      conversation.push(
        { role: "user", content: random.pick(followUps) },
        {
          role: "assistant",
          content: `As you like: ${topic}, seen from number ${random.integer(2, 99)} of a hundred sides.`,
        },
      )
    }
    return { id: `builtin/preferences/${index}`, conversation }
  },
}
