// Every field of the configuration has a test that fails when the field is ignored; this is the list of them.
import { readFileSync } from "node:fs"

import { expect, onTestFinished, test } from "vitest"

import { environmentConfig } from "../../environment/config/environment-config.ts"
import { toSnake } from "../../environment/config/keys.ts"
import { serverConfig } from "../../environment/config/server-config.ts"
import { defineEnvironment } from "../../environment/define-environment.ts"
import { openRun, type OpenRun } from "./open-run.ts"
import { readNamespacedFlags } from "./read-namespaced-flags.ts"
import { resolveConfiguration } from "./resolve-configuration.ts"
import { runOptions } from "./run-options.ts"

const serve = "environment/serve/serve.test.ts"
const limits = "environment/serve/worker-limit.test.ts"
const sessions = "environment/session-factory.test.ts"
const policy = "cli/environment/connect-policy.test.ts"
const commands = "cli/environment/environment-commands.test.ts"
const passedOn: [string, string] = ["cli/environment/fields.test.ts", "fields that only environments read reach them"]

const registration: [string, string] = [serve, "registers under wandb_name"]
const logging: [string, string] = [commands, "serve logs and saves as the env flags say"]

/** Where the test of a field is: the file below src, and how its title begins. */
const tests: Readonly<Record<string, [file: string, title: string]>> = {
  "env.group_size": registration,
  "env.max_token_length": [serve, "max_token_length bounds an answer"],
  "env.tokenizer_name": [policy, "env.tokenizer_name is the policy's tokenizer"],
  "env.worker_timeout": [serve, "a rollout that hangs ends at worker_timeout"],
  "env.seed": ["cli/environment/open-run.test.ts", "a seed fixes the sources of randomness"],
  "env.thinking_mode": [policy, "thinking is asked for when switched on"],
  "env.reasoning_effort": [policy, "thinking is asked for when switched on"],
  "env.max_reasoning_tokens": [policy, "thinking is asked for when switched on"],
  "env.custom_thinking_prompt": passedOn,
  "env.tool_call_format": [sessions, "tool_call_format says how calls are written"],
  "env.allow_inexact_tokens": [serve, "drops groups of inexact tokens with the reason, unless they are allowed"],
  "env.history": [sessions, "history keep goes on"],
  "env.plain_contents": [sessions, "plain_contents keeps control tokens"],
  "env.shared_answers": [sessions, "shared_answers each trains a shared answer"],
  "env.rollout_server_url": [commands, "serve reaches the server of rollout_server_url"],
  "env.wandb_name": registration,
  "env.total_steps": [serve, "total_steps -1 takes the trainer's number of steps"],
  "env.batch_size": ["environment/serve/registration.test.ts", "batch_size counts where the trainer tells none"],
  "env.max_batches_offpolicy": [serve, "stops to begin groups when max_batches_offpolicy batches wait"],
  "env.inference_weight": registration,
  "env.min_batch_allocation": registration,
  "env.max_num_workers": [serve, "keeps no more groups in flight than max_num_workers"],
  "env.max_num_workers_per_node": [serve, "keeps no more groups in flight than max_num_workers"],
  "env.ensure_scores_are_not_same": [serve, "drops groups of equal scores with the reason, unless told not to"],
  "env.shutdown_grace": [serve, "what is not finished after shutdown_grace stands in the checkpoint"],
  "env.steps_per_eval": [serve, "evaluates every steps_per_eval steps"],
  "env.eval_at_start": [serve, "evaluates every steps_per_eval steps"],
  "env.eval_at_end": [serve, "evaluates every steps_per_eval steps"],
  "env.eval_handling": [limits, "during an evaluation is nothing, a share, or as ever"],
  "env.eval_limit_ratio": [limits, "during an evaluation is nothing, a share, or as ever"],
  "env.max_eval_workers": passedOn,
  "env.data_dir_to_save_evals": [commands, "evaluate writes its files to data_dir_to_save_evals"],
  "env.use_wandb": passedOn,
  "env.min_items_sent_before_logging": logging,
  "env.num_rollouts_to_keep": logging,
  "env.num_rollouts_per_group_for_logging": logging,
  "env.include_messages": logging,
  "env.data_path_to_save_groups": logging,
  "env.teacher_enabled": passedOn,
  "env.teacher_top_k": passedOn,
  "openai.base_url": [policy, "base_url, api_key and model_name go into the requests"],
  "openai.api_key": [policy, "base_url, api_key and model_name go into the requests"],
  "openai.model_name": [policy, "base_url, api_key and model_name go into the requests"],
  "openai.server_type": [policy, "server_type chooses how the server is spoken to"],
  "openai.tokenizer_name": [policy, "env.tokenizer_name is the policy's tokenizer"],
  "openai.timeout": [policy, "timeout bounds a request"],
  "openai.num_max_requests_at_once": [policy, "num_max_requests_at_once and num_requests_for_eval bound"],
  "openai.num_requests_for_eval": [policy, "num_max_requests_at_once and num_requests_for_eval bound"],
  "openai.rolling_buffer_length": [policy, "rolling_buffer_length is how far the metrics look back"],
  "openai.n_kwarg_is_ignored": [policy, "n_kwarg_is_ignored asks for each answer by itself"],
  "openai.health_check": [policy, "health_check false never strikes a server off"],
  slurm: [policy, "slurm takes the servers of the job's nodes"],
  testing: [policy, "testing puts a stub in the place of all servers"],
  max_n_completions: [policy, "max_n_completions splits requests for more answers"],
  proxy_url: passedOn,
  config: [commands, "unknown keys of a YAML file are refused"],
  allow_unknown: [commands, "unknown keys of a YAML file are refused"],
  track: logging,
  json: [commands, "evaluate prints a table, and with --json the content of metrics.json"],
  quiet: [commands, "progress comes as lines where there is no terminal, and not with --quiet"],
  log_level: [commands, "log_level is the least level of what is told"],
}

test("every field has its test", () => {
  const fields = [
    ...Object.keys(environmentConfig.shape).map((field) => `env.${toSnake(field)}`),
    ...Object.keys(serverConfig.shape).map((field) => `openai.${toSnake(field)}`),
    ...Object.keys(runOptions.shape).map(toSnake),
  ]
  expect(Object.keys(tests).toSorted()).toEqual(fields.toSorted())
  const missing = Object.entries(tests).filter(([, [file, title]]) => {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")
    return !text.includes(`test("${title}`)
  })
  expect(missing).toEqual([])
})

const tiny = defineEnvironment({ name: "tiny", rows: [1], prompt: () => "say something:", score: () => 1 })

async function open(argv: string[], environment: Record<string, string> = {}): Promise<OpenRun> {
  const { flags } = readNamespacedFlags(["--testing", ...argv])
  const configuration = resolveConfiguration({ about: tiny.about, flags, file: null })
  const run = await openRun(tiny, configuration, { stderr: () => {}, environment })
  onTestFinished(() => run.close())
  return run
}

test("fields that only environments read reach them", async () => {
  const flags = {
    "--env.custom_thinking_prompt": "think first",
    "--env.max_eval_workers": "3",
    "--env.use_wandb": "false",
    "--env.teacher_enabled": "true",
    "--env.teacher_top_k": "5",
    "--teacher.base_url": "http://127.0.0.1:9003/v1",
    "--proxy_url": "http://127.0.0.1:9100",
  }
  const { environment } = await open(Object.entries(flags).flat(), { ATROPOS_PROXY_URL: "http://127.0.0.1:9200" })
  expect(environment.config).toMatchObject({
    customThinkingPrompt: "think first",
    maxEvalWorkers: 3,
    useWandb: false,
    teacherEnabled: true,
    teacherTopK: 5,
  })
  expect(environment.helpers).toHaveProperty("teacher")
  expect(environment.proxyUrl).toBe("http://127.0.0.1:9100")
  const other = await open([], { ATROPOS_PROXY_URL: "http://127.0.0.1:9200" })
  expect(other.environment.proxyUrl).toBe("http://127.0.0.1:9200")
})
