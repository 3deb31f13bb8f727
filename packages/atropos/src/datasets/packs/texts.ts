import type { TaskPack } from "./pack.ts"

const subjects = [
  "The baker",
  "A grey heron",
  "My neighbour",
  "The last tram",
  "An old clock",
  "The river",
  "Somebody",
  "The new teacher",
]
const verbs = ["waits for", "forgets", "follows", "remembers", "draws", "listens to", "passes", "counts"]
const objects = [
  "the morning fog",
  "seven red boats",
  "a broken umbrella",
  "the market square",
  "three quiet songs",
  "the evening post",
]
const endings = [
  "before sunrise",
  "without a word",
  "every second Tuesday",
  "as if nothing had happened",
  "near the lighthouse",
  "until it rains",
]

export const textsPack: TaskPack = {
  name: "texts",
  description: "short texts of one to three sentences",
  columns: ["text"],
  generate(random) {
    const sentence = (): string =>
      `${random.pick(subjects)} ${random.pick(verbs)} ${random.pick(objects)} ${random.pick(endings)}.`
    return { text: Array.from({ length: random.integer(1, 3) }, sentence).join(" ") }
  },
}
