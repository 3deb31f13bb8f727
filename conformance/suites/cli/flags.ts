// Command lines and YAML files, and the configuration they lead to.
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"

import {
  commandDefaults,
  type EnvironmentCommandName,
} from "../../../packages/atropos/src/cli/environment/environment-commands.ts"
import { readConfiguration } from "../../../packages/atropos/src/cli/environment/read-arguments.ts"
import { readNamespacedFlags } from "../../../packages/atropos/src/cli/environment/read-namespaced-flags.ts"
import type { Configuration } from "../../../packages/atropos/src/cli/environment/resolve-configuration.ts"
import { withSnakeKeys } from "../../../packages/atropos/src/environment/config/keys.ts"
import { AtroposError, isAtroposError } from "../../../packages/atropos/src/runtime/errors.ts"
import type { Report, Verdict } from "../../runner/suite.ts"
import { aboutSmall } from "./small-environment.ts"

interface Expectation {
  changes?: { env?: Record<string, unknown>; openai?: unknown; slurm?: boolean; testing?: boolean }
  exit?: number
  wandb_name?: string | null
}

export interface FlagCase extends Expectation {
  about: string
  command: EnvironmentCommandName
  argv: string[]
  yaml?: string
  environment_defaults?: string
  ours?: Expectation
}

export interface FlagsFile {
  commands_change: Record<string, Record<string, unknown>>
  cases: FlagCase[]
}

type Flat = Record<string, unknown> & { env: Record<string, unknown>; openai: Record<string, unknown>[] }

export async function runFlags(file: FlagsFile, name: string, report: Report): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "atropos-cli-"))
  try {
    for (const [command, changes] of Object.entries(file.commands_change)) {
      report(
        `${name}: ${command} changes by itself`,
        await checkCommand(command as EnvironmentCommandName, changes, directory),
      )
    }
    for (const [index, one] of file.cases.entries()) {
      report(`${name}#${index} ${one.command}: ${one.about}`, await checkCase(one, directory))
    }
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function checkCommand(
  command: EnvironmentCommandName,
  changes: Record<string, unknown>,
  directory: string,
): Promise<Verdict> {
  const base = flatten(await resolve({ about: "", command: "serve", argv: [] }, directory))
  const ours = flatten(await resolve({ about: "", command, argv: [] }, directory))
  return compare({ env: changes }, differences(base, ours))
}

async function checkCase(one: FlagCase, directory: string): Promise<Verdict> {
  const expected = one.ours ?? one
  const base = flatten(await resolve({ ...one, argv: [], yaml: undefined }, directory))
  if (one.environment_defaults === "no server, only shared settings") base.openai = base.openai.map(onlyShared)
  let ours: Flat
  try {
    ours = flatten(await resolve(one, directory))
  } catch (error) {
    if (!isAtroposError(error)) throw error
    const exit = error.code === "bad-option" ? 2 : 1
    if (expected.exit === exit) return { verdict: "passed" }
    return { verdict: "failed", difference: `exit ${exit} (${error.message}), expected ${JSON.stringify(expected)}` }
  }
  if (expected.exit !== undefined) return { verdict: "failed", difference: `accepted, expected exit ${expected.exit}` }
  if (one.wandb_name !== undefined) {
    // The case is about what stands without a flag: the environment's name.
    const named = ours.env["wandb_name"] === (typeof one.ours?.wandb_name === "string" ? "small" : one.wandb_name)
    return named
      ? { verdict: "passed" }
      : { verdict: "failed", difference: `wandb_name ${String(ours.env["wandb_name"])}` }
  }
  const changes = expected.changes ?? {}
  if (typeof changes.openai === "string") {
    const wanted = one.argv[one.argv.indexOf("--openai.base_url") + 1]
    const [server] = ours.openai
    return server?.["base_url"] === wanted
      ? { verdict: "passed" }
      : { verdict: "failed", difference: `base_url ${String(server?.["base_url"])}, given was ${wanted}` }
  }
  return compare(changes, differences(base, ours))
}

async function resolve(
  one: Omit<FlagCase, "yaml"> & { yaml?: string | undefined },
  directory: string,
): Promise<Configuration> {
  const argv = [...one.argv]
  if (one.yaml !== undefined) {
    await writeFile(join(directory, "case.yaml"), one.yaml)
    argv.unshift("--config", "case.yaml")
  }
  const about = aboutSmall(one.environment_defaults, one.wandb_name === undefined)
  const { flags, positionals } = readNamespacedFlags(argv)
  if (positionals.length > 0) throw new AtroposError("bad-option", `unrecognized arguments: ${positionals.join(" ")}`)
  return readConfiguration({
    about,
    commandDefaults: commandDefaults(one.command, about.name),
    flags,
    workingDirectory: directory,
  })
}

function flatten({ env, servers, run }: Configuration): Flat {
  return { env: withSnakeKeys(env), openai: servers.map(withSnakeKeys), slurm: run.slurm, testing: run.testing }
}

/** The fields that settings shared by servers have, as against those of one server. */
function onlyShared(server: Record<string, unknown>): Record<string, unknown> {
  const { api_key: _a, base_url: _b, n_kwarg_is_ignored: _c, health_check: _d, ...shared } = server
  return shared
}

/** What stands in `ours` and not in `base`; servers by their place, with only the fields that differ. */
function differences(base: Flat, ours: Flat): Record<string, unknown> {
  const changes: Record<string, unknown> = {}
  const env = changed(base.env, ours.env)
  if (Object.keys(env).length > 0) changes["env"] = env
  const openai = ours.openai.map((server, index) => changed(base.openai[index] ?? {}, server))
  if (openai.some((server) => Object.keys(server).length > 0)) changes["openai"] = openai
  for (const key of ["slurm", "testing"]) if (ours[key] !== base[key]) changes[key] = ours[key]
  return changes
}

function changed(base: Record<string, unknown>, ours: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(ours).filter(([key, value]) => !isDeepStrictEqual(value, base[key])))
}

function compare(expected: Record<string, unknown>, ours: Record<string, unknown>): Verdict {
  if (isDeepStrictEqual(plain(expected), plain(ours))) return { verdict: "passed" }
  return { verdict: "failed", difference: `${JSON.stringify(ours)}, expected ${JSON.stringify(expected)}` }
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown
}
