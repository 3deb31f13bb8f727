import { expect, onTestFinished, test } from "vitest"

import { openServer } from "../../inference/servers/open-server.ts"
import { createModelStub } from "../../inference/stub/model-stub.ts"
import { createRandom } from "../random.ts"
import { goldNowAndThen, toldAnswer } from "./gold-now-and-then.ts"

test("about half of the rollouts of an item get its gold answer, in every turn, the rest what the model says", async () => {
  const stub = await createModelStub({ answer: toldAnswer })
  onTestFinished(() => stub.close())
  const server = openServer("vllm", { baseUrl: stub.baseUrl, model: "m" })
  onTestFinished(() => server.close())
  const { tokenizer } = stub
  const environment = {
    tokenizer,
    goldAnswer: (item: unknown, call: { turn: number; prompt: string }) =>
      `${String(item)} ${call.turn} ${call.prompt}`,
  }
  const prompt = tokenizer.encode("say it:")
  const texts = await Promise.all(
    Array.from({ length: 40 }, async (_, rollout) => {
      const policy = goldNowAndThen(server, environment, { item: "gold", random: createRandom(rollout) })
      const turns = []
      for (let turn = 0; turn < 2; turn++) {
        const { choices } = await policy.completeTokens(prompt, { maxTokens: 30 })
        turns.push(choices[0]?.text)
      }
      return turns
    }),
  )
  const right = texts.filter(([first]) => first === "gold 0 say it:")
  expect(right.length).toBeGreaterThan(10)
  expect(right.length).toBeLessThan(30)
  expect(new Set(right.map(([, second]) => second))).toEqual(new Set(["gold 1 say it:"]))
  expect(texts.filter(([first, second]) => first !== "gold 0 say it:" && second === "gold 1 say it:")).toEqual([])
})
