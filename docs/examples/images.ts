// Images: what a rollout looked at goes to the trainer beside its tokens.
import { defineEnvironment } from "atropos-rl"

// A white and a black pixel.
const pixels = {
  white: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEANl9ngAAAAABJRU5ErkJggg==",
  black: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==",
} as const

export default defineEnvironment({
  name: "pixels",
  description: "Name the colour of a pixel",
  rows: ["white", "black"] as const,
  prompt: () => [{ role: "user", content: "Which colour is the picture? One word." }],
  score: (colour, answer) => ({
    score: answer.text.trim().toLowerCase() === colour ? 1 : 0,
    image: pixels[colour],
  }),
})
