import { readFile } from "node:fs/promises"
import { resolve } from "node:path"

import { parse } from "yaml"

import type { EnvironmentAbout } from "../../environment/environment-class.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { NamespacedFlag } from "./read-namespaced-flags.ts"
import { type Configuration, resolveConfiguration } from "./resolve-configuration.ts"

export interface ReadArguments {
  about: EnvironmentAbout
  commandDefaults?: Readonly<Record<string, unknown>>
  flags: readonly NamespacedFlag[]
  workingDirectory: string
}

/** The configuration of a command line, with the YAML file that it names. */
export async function readConfiguration(options: ReadArguments): Promise<Configuration> {
  const { flags, workingDirectory } = options
  const path = flags.findLast(({ namespace, key }) => namespace === "" && key === "config")?.text
  const file = path === undefined || path === "None" ? null : await readYaml(resolve(workingDirectory, path))
  return resolveConfiguration({ ...options, file })
}

async function readYaml(path: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, "utf8")
  } catch (error) {
    throw new AtroposError("bad-option", `--config: cannot read ${path}`, { cause: error })
  }
  try {
    // Files of the original were read by a YAML 1.1 parser, where `<<: *other` takes over another mapping's keys.
    return parse(text, { merge: true }) as unknown
  } catch (error) {
    throw new AtroposError("bad-option", `--config: ${path} is no YAML: ${error instanceof Error ? error.message : ""}`)
  }
}
