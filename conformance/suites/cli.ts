import { readFile } from "node:fs/promises"
import { basename, dirname } from "node:path"

import type { Suite } from "../runner/suite.ts"
import { runEvaluateFile, runOwnEvaluation } from "./cli/evaluate.ts"
import { type FlagsFile, runFlags } from "./cli/flags.ts"
import { type HelpFile, runHelp } from "./cli/help.ts"
import { type MetricsFile, runMetrics } from "./cli/metrics.ts"
import { runProcessRuns, type RunsFile } from "./cli/process.ts"

const evaluationFiles = ["evaluate_config.yaml", "printed.txt", "samples.jsonl"]

export const suite: Suite = {
  name: "cli",
  vectors: "cli",
  accepts: (file) => /\.jsonl?$/.test(file) || evaluationFiles.includes(basename(file)),
  async run(files, report, { root }) {
    for (const file of files) {
      const name = basename(file)
      if (evaluationFiles.includes(name)) {
        await runEvaluateFile(file, root, report)
        continue
      }
      if (name.endsWith(".jsonl")) continue
      const content = JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>
      if (Array.isArray(content["cases"])) await runFlags(content as unknown as FlagsFile, name, report)
      else if ("unknown_command" in content) await runHelp(content as unknown as HelpFile, name, report)
      else if ("keys_by_step" in content) await runMetrics(content as unknown as MetricsFile, name, report)
      else if (name === "runs.json") await runProcessRuns(file, content as RunsFile, report)
      else if ("config_general" in content) {
        await runEvaluateFile(file, root, report)
        if (files.includes(`${dirname(file)}/samples.jsonl`)) await runOwnEvaluation(file, root, report)
      }
    }
  },
}
