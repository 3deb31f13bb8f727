// The same task as an Axolotl run of the original had it: TRL's server, whose own sampling settings count in training,
// and greedy evaluation.
import { defineEnvironment, runIfMain } from "atropos-rl"

import { gsm8kDefinition } from "./gsm8k.ts"

const model = "Qwen/Qwen3-1.7B"

const gsm8kAxolotl = defineEnvironment({
  ...gsm8kDefinition,
  defaults: { ...gsm8kDefinition.defaults, tokenizerName: model },
  servers: { modelName: model, baseUrl: "http://localhost:9001", serverType: "trl", numRequestsForEval: 256 },
  sampling: {},
  evaluation: {
    ...gsm8kDefinition.evaluation,
    rows: gsm8kDefinition.evaluation?.rows ?? [],
    sampling: { temperature: 0 },
  },
})

export default gsm8kAxolotl

runIfMain(import.meta, gsm8kAxolotl)
