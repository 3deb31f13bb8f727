import type { z } from "zod"

import { configTopics, environmentConfig } from "../../environment/config/environment-config.ts"
import { toSnake } from "../../environment/config/keys.ts"
import { serverConfig } from "../../environment/config/server-config.ts"
import type { EnvironmentAbout, ServerDefaults } from "../../environment/environment-class.ts"
import { typeName } from "../read-value.ts"
import { runOptions } from "./run-options.ts"

export interface FlagHelp {
  /** `--env.group_size` */
  flag: string
  /** `int`, `float`, `bool`, `text`, `json`, or the words that it takes, with `|` between. */
  type: string
  /** The field's own default. */
  default: unknown
  /** The environment's, where it is another. */
  here?: unknown
  description: string
}

export interface FlagGroup {
  title: string
  flags: FlagHelp[]
}

/** Every flag of an environment's commands, in groups. */
export function listFlags(about: EnvironmentAbout | undefined): FlagGroup[] {
  const schema = about?.config ?? environmentConfig
  const defaults = about?.defaults ?? {}
  const base = Object.keys(environmentConfig.shape)
  const own = Object.keys(schema.shape).filter((field) => !base.includes(field))
  const groups: FlagGroup[] = [
    { title: "run", flags: listFields("", runOptions, Object.keys(runOptions.shape), {}) },
    ...(own.length === 0 ? [] : [{ title: about?.name ?? "", flags: listFields("env.", schema, own, defaults) }]),
    ...configTopics.map(({ title, fields }) => ({ title, flags: listFields("env.", schema, fields, defaults) })),
  ]
  const namespaces: [string, EnvironmentAbout["servers"], string][] = [
    ["openai", about?.servers, "inference servers of the policy"],
    ...Object.entries(about?.helpers ?? {}).map(
      ([name, servers]) => [name, servers, `inference servers of the ${name}`] as [string, typeof servers, string],
    ),
  ]
  for (const [namespace, servers, title] of namespaces) {
    const fields = Object.keys(serverConfig.shape)
    groups.push({ title, flags: listFields(`${namespace}.`, serverConfig, fields, onlyServer(servers)) })
  }
  return groups
}

export function formatHelp(usage: string, summary: string, groups: readonly FlagGroup[]): string {
  const width = 2 + Math.max(...groups.flatMap(({ flags }) => flags.map(({ flag, type }) => `${flag} ${type}`.length)))
  const column = Math.min(44, width)
  const sections = groups.map(({ title, flags }) => {
    const lines = flags.map((help) => {
      const left = `  ${`${help.flag} ${help.type}`.padEnd(column)}`
      const here = help.here === undefined ? "" : `, here ${show(help.here)}`
      return `${left} ${help.description} [${show(help.default)}${here}]\n`
    })
    return `\n${title}\n${lines.join("")}`
  })
  return `${usage}\n\n${summary}.\nA flag wins over the YAML file of --config, and that over the environment's own defaults.\n${sections.join("")}`
}

function listFields(
  prefix: string,
  schema: z.ZodObject,
  fields: readonly string[],
  defaults: Readonly<Record<string, unknown>>,
): FlagHelp[] {
  const own = new Map(Object.entries(defaults).map(([key, value]) => [toSnake(key), value]))
  return fields.map((field) => {
    const type = schema.shape[field] as z.ZodType
    const key = toSnake(field)
    const standard = type.safeParse(undefined)
    const fallback: unknown = standard.success ? standard.data : undefined
    const here = own.get(key)
    return {
      flag: `--${prefix}${key}`,
      type: typeName(type),
      default: fallback,
      ...(here === undefined || JSON.stringify(here) === JSON.stringify(fallback) ? {} : { here }),
      description: type.description ?? "",
    }
  })
}

function onlyServer(servers: EnvironmentAbout["servers"]): ServerDefaults {
  if (servers === undefined) return {}
  const list: readonly ServerDefaults[] = Array.isArray(servers) ? servers : [servers as ServerDefaults]
  return list.length === 1 ? (list[0] ?? {}) : {}
}

function show(value: unknown): string {
  return value === undefined ? "required" : (JSON.stringify(value) ?? "")
}
