import type { z } from "zod"

import { type EnvironmentConfig, environmentConfig } from "../../environment/config/environment-config.ts"
import { toSnake } from "../../environment/config/keys.ts"
import { type ServerConfig, serverConfig } from "../../environment/config/server-config.ts"
import type { EnvironmentAbout, ServerDefaults } from "../../environment/environment-class.ts"
import { AtroposError } from "../../runtime/errors.ts"
import { nearest } from "../../runtime/nearest.ts"
import type { NamespacedFlag } from "./read-namespaced-flags.ts"
import { readValue } from "../read-value.ts"
import { fileOptions, runOptions, type RunOptions } from "./run-options.ts"

export interface ConfigurationSources {
  about: EnvironmentAbout
  /** What the command changes by itself, over the environment's defaults. */
  commandDefaults?: Readonly<Record<string, unknown>>
  flags: readonly NamespacedFlag[]
  /** The parsed YAML file; null when there is none or it is empty. */
  file: unknown
}

export interface Configuration {
  env: EnvironmentConfig
  /** The policy's servers as configured; one with an empty base_url stands for the default ports. */
  servers: ServerConfig[]
  /** Whether they were given as a list, for files that repeat the configuration. */
  serversAreList: boolean
  helpers: Readonly<Record<string, ServerConfig[]>>
  run: RunOptions
  /** What was passed over because of `allow_unknown`. */
  warnings: string[]
}

/** Flags over the file over the environment's defaults, field by field; every value checked. */
export function resolveConfiguration(sources: ConfigurationSources): Configuration {
  const { about, flags } = sources
  const warnings: string[] = []
  const run = resolveRun(sources, warnings)
  const unknown = (message: string): void => {
    if (!run.allowUnknown) throw new AtroposError("bad-option", `${message}; --allow-unknown passes over it`)
    warnings.push(message)
  }
  const file = asSection(sources.file, "the YAML file")
  const helperNames = [...new Set([...Object.keys(about.helpers ?? {}), "teacher"])]
  const namespaces = ["env", "openai", ...helperNames]
  for (const key of Object.keys(file)) {
    if (!namespaces.includes(toSnake(key)) && !fileOptions.includes(toSnake(key))) {
      unknown(
        `the YAML file has an unknown key ${key}${topLevelSuggestion(key, [...namespaces, ...fileOptions], about)}`,
      )
    }
  }
  for (const { namespace, flag } of flags) {
    if (namespace !== "" && !namespaces.includes(namespace)) {
      throw new AtroposError("bad-option", `unknown flag ${flag}${didYouMean(namespace, namespaces, "--", ".…")}`)
    }
  }
  const section = (name: string): unknown => Object.entries(file).find(([key]) => toSnake(key) === name)?.[1]
  const flagsOf = (name: string): NamespacedFlag[] => flags.filter(({ namespace }) => namespace === name)

  const env = mergeFields(
    about.config ?? environmentConfig,
    [{ wandbName: about.name }, about.defaults ?? {}, sources.commandDefaults ?? {}],
    { values: asSection(section("env"), "env"), name: "env" },
    flagsOf("env"),
    unknown,
  ) as EnvironmentConfig
  const servers = resolveServers("openai", about.servers, section("openai"), flagsOf("openai"), unknown)
  const helpers: Record<string, ServerConfig[]> = {}
  for (const name of helperNames) {
    const given = about.helpers?.[name]
    if (given === undefined && section(name) === undefined && flagsOf(name).length === 0) continue
    helpers[name] = resolveServers(name, given, section(name), flagsOf(name), unknown).servers
  }
  return {
    env,
    servers: servers.servers,
    serversAreList: servers.isList,
    helpers,
    run,
    warnings,
  }
}

function resolveRun({ flags, file }: ConfigurationSources, warnings: string[]): RunOptions {
  const values = Object.fromEntries(
    Object.entries(asSection(file, "the YAML file")).filter(([key]) => fileOptions.includes(toSnake(key))),
  )
  const own = flags
    .filter(({ namespace }) => namespace === "")
    .map((flag) => (flag.text === undefined ? { ...flag, text: "true" } : flag))
  return mergeFields(runOptions, [], { values, name: "" }, own, (message) => void warnings.push(message)) as RunOptions
}

function resolveServers(
  namespace: string,
  defaults: EnvironmentAbout["servers"],
  given: unknown,
  flags: readonly NamespacedFlag[],
  unknown: (message: string) => void,
): { servers: ServerConfig[]; isList: boolean } {
  const fromFile = given === undefined || given === null ? undefined : Array.isArray(given) ? given : [given]
  const fromDefaults: readonly ServerDefaults[] = defaults === undefined ? [] : toList(defaults)
  const several =
    (fromFile?.length ?? 0) > 1
      ? fromFile
      : fromFile === undefined && fromDefaults.length > 1
        ? fromDefaults
        : undefined
  if (several !== undefined) {
    if (flags.length > 0) {
      throw new AtroposError(
        "bad-option",
        `${flags[0]?.flag} stands beside ${several.length} ${namespace} servers: which of them is meant? Set it in their list`,
      )
    }
    const servers = several.map((server, index) =>
      mergeFields(
        serverConfig,
        [],
        { values: asSection(server, namespace), name: `${namespace}[${index}]` },
        [],
        unknown,
      ),
    )
    return { servers: servers as ServerConfig[], isList: true }
  }
  const server = mergeFields(
    serverConfig,
    fromDefaults.length === 1 ? [fromDefaults[0] ?? {}] : [],
    { values: asSection(fromFile?.[0], namespace), name: namespace },
    flags,
    unknown,
  ) as ServerConfig
  return {
    servers: [server],
    isList: fromFile === undefined ? Array.isArray(defaults) : Array.isArray(given) || Array.isArray(defaults),
  }
}

/** One section: the schema's own defaults, then those given, the file's values and the flags' texts. */
function mergeFields(
  schema: z.ZodObject,
  defaults: readonly Readonly<Record<string, unknown>>[],
  file: { values: Readonly<Record<string, unknown>>; name: string },
  flags: readonly NamespacedFlag[],
  unknown: (message: string) => void,
): Record<string, unknown> {
  const fields = new Map(Object.keys(schema.shape).map((name) => [toSnake(name), name]))
  const known = [...fields.keys()]
  const values: Record<string, unknown> = {}
  const set = (name: string, raw: unknown, origin: "flag" | "file", written: string): void => {
    const read = readValue(schema.shape[name] as z.ZodType, raw, origin)
    if (!read.ok) {
      throw new AtroposError("bad-option", `${written} ${read.message}, received ${JSON.stringify(raw) ?? String(raw)}`)
    }
    values[name] = read.value
  }
  for (const layer of defaults) {
    for (const [key, value] of Object.entries(layer)) {
      const name = fields.get(toSnake(key))
      if (name === undefined) {
        throw new AtroposError(
          "bad-option",
          `the environment sets a default of ${key}, which is no field${didYouMean(key, known)}`,
        )
      }
      if (value !== undefined) set(name, value, "file", `the environment's default of ${toSnake(key)}`)
    }
  }
  const prefix = file.name === "" ? "" : `${file.name}.`
  for (const [key, value] of Object.entries(file.values)) {
    const name = fields.get(toSnake(key))
    if (name === undefined) unknown(`the YAML file has an unknown key ${prefix}${key}${didYouMean(key, known)}`)
    else set(name, value, "file", `${prefix}${key} in the YAML file`)
  }
  for (const { flag, key, text, namespace } of flags) {
    const name = fields.get(key)
    if (name === undefined) {
      throw new AtroposError("bad-option", `unknown flag ${flag}${suggestion(key, known, namespace)}`)
    }
    set(name, text, "flag", flag)
  }
  return schema.parse(values)
}

/** Fields of a section are easily written outside it. */
function topLevelSuggestion(key: string, known: readonly string[], about: EnvironmentAbout): string {
  const sections = { env: about.config ?? environmentConfig, openai: serverConfig }
  for (const [section, schema] of Object.entries(sections)) {
    const isField = Object.keys(schema.shape).some((field) => toSnake(field) === toSnake(key))
    if (isField) return `, did you mean ${section}.${toSnake(key)}?`
  }
  return didYouMean(key, known)
}

/** For flags without a namespace also the environment's fields, which are easily written without it. */
function suggestion(key: string, known: readonly string[], namespace: string): string {
  if (namespace !== "") return didYouMean(key, known, `--${namespace}.`)
  return didYouMean(key, known, "--") || didYouMean(key, Object.keys(environmentConfig.shape).map(toSnake), "--env.")
}

function didYouMean(key: string, known: readonly string[], before = "", after = ""): string {
  const near = nearest(toSnake(key), known)
  return near === undefined ? "" : `, did you mean ${before}${near}${after}?`
}

function asSection(value: unknown, name: string): Record<string, unknown> {
  if (value === undefined || value === null) return {}
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>
  throw new AtroposError(
    "bad-option",
    `${name} has to be a mapping of keys to values, received ${JSON.stringify(value)}`,
  )
}

function toList<Value>(value: Value | readonly Value[]): readonly Value[] {
  return Array.isArray(value) ? (value as readonly Value[]) : [value as Value]
}
