import { basename } from "node:path"

import { AtroposError } from "../runtime/errors.ts"
import { isDataFile } from "./formats/read-file.ts"

export interface Selection {
  config: string | undefined
  split: string
}

/** Files beside the data that look like data. */
const notData = new Set([
  "dataset_infos.json",
  "dataset_dict.json",
  "state.json",
  "package.json",
  "config.json",
  "metadata.json",
])

const otherNames: Readonly<Record<string, readonly string[]>> = {
  train: ["train", "training"],
  test: ["test", "testing", "eval", "evaluation"],
  validation: ["validation", "valid", "val", "dev"],
}

/**
 * The files of a folder or repository that hold a split: as its README says (`configs:` in the front matter), else by
 * the names of files and folders. `files` are paths relative to the root.
 */
export async function selectFiles(
  files: readonly string[],
  selection: Selection,
  readme: string | undefined,
): Promise<string[]> {
  const declared = readme === undefined ? undefined : await declaredFiles(readme, files, selection)
  if (declared !== undefined) return declared
  let candidates = files
    .filter((file) => isDataFile(file) && !notData.has(basename(file)) && !isHidden(file))
    .toSorted()
  const { config, split } = selection
  if (config !== undefined) {
    const inFolder = candidates.filter((file) => file.startsWith(`${config}/`) || file.includes(`/${config}/`))
    if (inFolder.length > 0) candidates = inFolder
  }
  const ofSplit = candidates.filter((file) => splitOf(file) === canonical(split))
  if (ofSplit.length > 0) return ofSplit
  const named = candidates.filter((file) => splitOf(file) !== undefined)
  // Files that name no split are the training data.
  if (named.length === 0 && canonical(split) === "train") return candidates
  return []
}

/** Splits that a folder or repository seems to have, for messages. */
export function knownSplits(files: readonly string[]): string[] {
  const splits = files.filter(isDataFile).map((file) => splitOf(file) ?? "train")
  return [...new Set(splits)].toSorted()
}

function isHidden(file: string): boolean {
  return file.split("/").some((part) => part.startsWith("."))
}

function canonical(split: string): string {
  return Object.keys(otherNames).find((name) => otherNames[name]?.includes(split)) ?? split
}

/** The split that a path names as a word of its own: `train-00000-of-00001.parquet`, `data/test/part.jsonl`. */
function splitOf(file: string): string | undefined {
  const words = file.toLowerCase().split(/[/_.\s-]+/)
  for (const [split, names] of Object.entries(otherNames)) {
    if (words.some((word) => names.includes(word))) return split
  }
  return undefined
}

interface DeclaredConfig {
  name: string
  isDefault: boolean
  dataFiles: readonly { split: string; patterns: readonly string[] }[]
}

async function declaredFiles(
  readme: string,
  files: readonly string[],
  { config, split }: Selection,
): Promise<string[] | undefined> {
  const configs = await declaredConfigs(readme)
  if (configs.length === 0) return undefined
  const chosen =
    config === undefined
      ? (configs.find((entry) => entry.isDefault || entry.name === "default") ??
        (configs.length === 1 ? configs[0] : undefined))
      : configs.find((entry) => entry.name === config)
  const names = configs.map((entry) => entry.name).join(", ")
  if (chosen === undefined) {
    throw new AtroposError(
      "dataset-missing",
      config === undefined
        ? `the data set has several configurations, choose one: ${names}`
        : `the data set has no configuration ${JSON.stringify(config)}; it has ${names}`,
    )
  }
  const wanted = chosen.dataFiles.find((entry) => entry.split === split || canonical(entry.split) === canonical(split))
  if (wanted === undefined) {
    const splits = chosen.dataFiles.map((entry) => entry.split).join(", ")
    throw new AtroposError(
      "dataset-missing",
      `the data set (configuration ${chosen.name}) has no split ${JSON.stringify(split)}; it has ${splits}`,
    )
  }
  const patterns = wanted.patterns.map(globPattern)
  return files.filter((file) => patterns.some((pattern) => pattern.test(file))).toSorted()
}

async function declaredConfigs(readme: string): Promise<DeclaredConfig[]> {
  const front = /^---\r?\n([\s\S]*?)\r?\n---/.exec(readme)?.[1]
  if (front === undefined) return []
  const yaml = await import("yaml")
  let value: unknown
  try {
    value = yaml.parse(front)
  } catch {
    // A README that is no YAML says nothing about its files: they are told by their names.
    return []
  }
  const configs = isObject(value) && Array.isArray(value["configs"]) ? value["configs"] : []
  return configs.flatMap((entry: unknown): DeclaredConfig[] => {
    if (!isObject(entry)) return []
    const dataFiles = declaredDataFiles(entry["data_files"])
    if (dataFiles.length === 0) return []
    return [{ name: textOr(entry["config_name"], "default"), isDefault: entry["default"] === true, dataFiles }]
  })
}

function declaredDataFiles(value: unknown): DeclaredConfig["dataFiles"] {
  if (typeof value === "string") return [{ split: "train", patterns: [value] }]
  if (!Array.isArray(value)) return []
  if (value.every((entry) => typeof entry === "string")) return [{ split: "train", patterns: value }]
  return value.flatMap((entry: unknown) => {
    if (!isObject(entry)) return []
    const { path } = entry
    const patterns = Array.isArray(path)
      ? path.filter((part) => typeof part === "string")
      : typeof path === "string"
        ? [path]
        : []
    return patterns.length === 0 ? [] : [{ split: textOr(entry["split"], "train"), patterns }]
  })
}

function textOr(value: unknown, standard: string): string {
  return typeof value === "string" ? value : standard
}

function globPattern(glob: string): RegExp {
  const source = glob
    .replaceAll(/[$()+.[\\\]^{|}]/g, "\\$&")
    .replaceAll(/\*\*\/?|\*|\?/g, (wild) => (wild.startsWith("**") ? ".*" : wild === "*" ? "[^/]*" : "[^/]"))
  return new RegExp(`^${source}$`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
