import { parse } from "yaml"
import { describe, expect, it } from "vitest"

import { createStubTokenizer } from "../inference/stub/tokenizer/stub-tokenizer.ts"
import { ScriptedPolicy } from "../environment/testing/scripted-policy.ts"
import { RewardRegistry } from "./registry.ts"
import { callReward, type RewardSpec } from "./reward.ts"

describe("the registry", () => {
  it("makes rewards of configuration, with snake_case settings, a weight and nested params", async () => {
    const spec = parse(`
      type: combined
      weight: 2
      rewards:
        - accuracy
        - type: format
          weight: 0.5
          params: { require_all_tags: true }
    `) as RewardSpec
    const reward = new RewardRegistry().create(spec)
    const { values, metrics } = await callReward(
      reward,
      ["<think>a</think><answer>\\boxed{4}</answer>", "\\boxed{4}", "5"],
      { ground_truth: "4" },
    )
    expect(values).toEqual([3, 2, 0])
    expect(metrics).toEqual({
      "reward/accuracy/mean_raw": 2 / 3,
      "reward/accuracy/mean_weighted": 2 / 3,
      "reward/accuracy/min": 0,
      "reward/accuracy/max": 1,
      "reward/format/mean_raw": 1 / 3,
      "reward/format/mean_weighted": 0.5 / 3,
      "reward/format/min": 0,
      "reward/format/max": 1,
      "reward/combined/mean_raw": 2.5 / 3,
      "reward/combined/mean_weighted": 5 / 3,
      "reward/combined/min": 0,
      "reward/combined/max": 1.5,
    })
  })

  it("takes plain functions, named ones by their name", async () => {
    const registry = new RewardRegistry()
    registry.register("brevity", (completions) => completions.map((completion) => -String(completion).length))
    expect(registry.names).toContain("brevity")
    expect(registry.resolve("Brevity_Reward")).toBe("brevity")
    expect((await callReward(registry.create({ type: "brevity", weight: 0.5 }), ["abcd"])).values).toEqual([-2])
    const reward = registry.create(function shout(completions) {
      return completions.map(() => 1)
    })
    expect((await callReward(reward, ["a"])).metrics).toHaveProperty("reward/shout/mean_raw", 1)
  })

  it("names what is known when a name, a setting or a value is not", () => {
    const registry = new RewardRegistry()
    expect(() => registry.create("acuracy")).toThrow('unknown reward "acuracy", did you mean accuracy?')
    expect(() => registry.create({ type: "format", prefered_tags: [] })).toThrow("did you mean preferredTags?")
    expect(() => registry.create({ type: "accuracy", tolerance: "much" })).toThrow("accuracy, tolerance: Invalid input")
    expect(() => registry.create({ type: "accuracy", weight: Number.NaN })).toThrow("the weight of reward accuracy")
  })

  it("gives 0 everywhere, and says why, when a reward fails as a whole", async () => {
    const failing = new RewardRegistry().create(() => {
      throw new Error("no disk")
    })
    const { values, error } = await callReward(failing, ["a", "b"])
    expect(values).toEqual([0, 0])
    expect(error?.message).toBe("no disk")
  })
})

describe("the judge", () => {
  function openJudge(answer: (prompt: string, index: number) => string | Error): {
    policy: ScriptedPolicy
    score: (texts: readonly string[], context?: Record<string, unknown>) => ReturnType<typeof callReward>
  } {
    const policy = new ScriptedPolicy({
      tokenizer: createStubTokenizer(),
      answer: ({ prompt, index }) => answer(prompt, index),
    })
    const registry = new RewardRegistry({ judge: { server: policy } })
    const reward = registry.create({ type: "judge", rubric: "Is it polite?", max_score: 4 })
    return { policy, score: (texts, context = {}) => callReward(reward, texts, context) }
  }

  it("scores by the rubric, the task and the reference, scaled to 0..1; thinking is not shown", async () => {
    const { policy, score } = openJudge((prompt) => (prompt.includes("Thank you") ? "Nice.\n**Score: 4**" : "Score: 1"))
    const { values } = await score(["<think>ugh</think>Thank you!", "Go away."], {
      question: "Greet!",
      solution: "Hello",
    })
    expect(values).toEqual([1, 0.25])
    const [first] = policy.calls
    expect(first?.prompt).toMatch(/Is it polite\?[^]*Greet![^]*Hello[^]*Thank you!/)
    expect(first?.prompt).not.toContain("ugh")
    expect(first?.sampling).toMatchObject({ n: 1, temperature: 0 })
  })

  it("tells judgements that could not be had from low ones", async () => {
    const { score } = openJudge((prompt) => {
      if (prompt.includes("first")) return new Error("no such server")
      if (prompt.includes("second")) return "I would rather not say."
      return prompt.includes("third") ? "Score: 99" : "Score: 0"
    })
    const { values, metrics, error } = await score(["first", "second", "third", "fourth"])
    expect(values).toEqual([undefined, undefined, undefined, 0])
    expect(metrics["reward/judge/failed"]).toBe(3)
    expect(error).toBeUndefined()
  })

  it("asks once for what it is asked twice, also at the same time, and again after a failure", async () => {
    const { policy, score } = openJudge((_, index) => (index === 0 ? new Error("busy") : "Score: 2"))
    expect((await score(["same", "same"])).values).toEqual([undefined, undefined])
    expect(policy.calls).toHaveLength(1)
    expect((await score(["same", "same"])).values).toEqual([0.5, 0.5])
    expect((await score(["same"])).values).toEqual([0.5])
    expect(policy.calls).toHaveLength(2)
  })

  it("needs a server", () => {
    expect(() => new RewardRegistry().create("judge")).toThrow("needs an inference server")
  })
})
