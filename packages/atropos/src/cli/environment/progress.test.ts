import { expect, test } from "vitest"

import { createProgress, type Progress } from "./progress.ts"

function shown(options: { terminal?: boolean; columns?: number; shown?: boolean }): {
  progress: Progress
  clock: { ms: number }
  text: () => string
} {
  const clock = { ms: 0 }
  const written: string[] = []
  const context = { ...options, stderr: (text: string) => void written.push(text) }
  return {
    progress: createProgress(context, options.shown ?? true, () => clock.ms),
    clock,
    text: () => written.join(""),
  }
}

test("without a terminal a line comes after ten seconds, and then less and less often, at least once a minute", () => {
  const { progress, clock, text } = shown({})
  for (; clock.ms <= 300_000; clock.ms += 100) progress.update(3, 10, "steps")
  const seconds = text()
    .trim()
    .split("\n")
    .map((line) => Number.parseInt(line, 10))
  expect(text()).toContain("10 s  3/10  steps\n")
  expect(seconds).toEqual([10, 25, 48, 81, 132, 192, 252])
})

test("on a terminal one line is drawn anew, no wider than the terminal", () => {
  const { progress, clock, text } = shown({ terminal: true, columns: 40 })
  progress.update(3, 10, "steps and much more than fits into this line")
  clock.ms += 1000
  progress.update(4, 10, "steps")
  progress.end()
  const [, ...drawn] = text().split("\r\u001B[2K")
  expect(drawn).toEqual(["███████░░░░░░░░░░░░░░░░░ 3/10  steps an", expect.stringMatching(/4\/10 {2}steps$/), ""])
})

test("told to be quiet, nothing is written", () => {
  const { progress, clock, text } = shown({ shown: false })
  clock.ms = 100_000
  progress.update(3, 10, "steps")
  expect(text()).toBe("")
})
