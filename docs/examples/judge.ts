// A judge: another inference server, configured by `--judge.*` as the policy is by `--openai.*`. It sees the whole
// group, so this environment overrides the class where a group is made.
import {
  type Answer,
  Environment,
  environmentConfig,
  type EnvironmentConfig,
  type GroupRun,
  type TrajectoryGroup,
} from "atropos-rl"

const topics = ["rain", "a lost key", "the last train"]

export default class Poems extends Environment<string> {
  static readonly about = {
    name: "poems",
    description: "Write a line that a judge prefers",
    config: environmentConfig,
    defaults: { groupSize: 4 },
    helpers: { judge: { modelName: "judge", serverType: "openai" } },
  }
  #next = 0

  override nextItem(): string | undefined {
    return topics[this.#next++ % topics.length]
  }

  override async collectTrajectories(topic: string, group: GroupRun<EnvironmentConfig>): Promise<TrajectoryGroup[]> {
    const rollouts = await group.run(({ session }) =>
      session.chat([{ role: "user", content: `One line of verse about ${topic}.` }], { maxTokens: 40 }),
    )
    const lines = rollouts.map((rollout) => (rollout.status === "done" ? rollout.value.text : ""))
    const favourite = await this.#favourite(topic, lines, group.signal)
    return group.score(rollouts, (_answer: Answer, index) => ({ score: index === favourite ? 1 : 0 }))
  }

  async #favourite(topic: string, lines: readonly string[], signal: AbortSignal): Promise<number> {
    const { judge } = this.helpers
    if (judge === undefined) throw new Error("no judge: set --judge.base_url")
    const numbered = lines.map((line, index) => `${index}: ${line}`).join("\n")
    const content = `Which is the best line about ${topic}? Answer with its number alone.\n${numbered}`
    const { choices } = await judge.chat({ messages: [{ role: "user", content }] }, { signal })
    return Number(choices[0]?.text)
  }
}
