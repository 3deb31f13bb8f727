// The one place where the library reaches for what is packed beside it: the environments and the trainer.
// From source they are workspaces of the repository; in the published package the build lies side by side.
import { existsSync, readdirSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, join, resolve, sep } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

import { AtroposError } from "../runtime/errors.ts"
import { nearest } from "../runtime/nearest.ts"

const fromSource = import.meta.url.endsWith(".ts")
const extension = fromSource ? ".ts" : ".js"

const folders = fromSource
  ? {
      environments: new URL("../../../../environments/", import.meta.url),
      trainer: new URL("../../../trainer/src/", import.meta.url),
    }
  : {
      environments: new URL("../../../environments/", import.meta.url),
      trainer: new URL("../../../trainer/src/", import.meta.url),
    }

/** A file of the trainer workspace, by its path without extension below `src`: `trainerFile("grpo")`. */
export function trainerFile(path: string): URL {
  return new URL(path + extension, folders.trainer)
}

/** Imports a module of the trainer workspace: `importTrainer("grpo")`. */
export async function importTrainer(path: string): Promise<Record<string, unknown>> {
  return (await import(trainerFile(path).href)) as Record<string, unknown>
}

/** Names of the environments that come with the package, in snake_case. */
export function environmentNames(): string[] {
  const root = fileURLToPath(folders.environments)
  if (!existsSync(root)) return []
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(root, entry.name, entry.name + extension)))
    .map((entry) => entry.name.replaceAll("-", "_"))
    .toSorted()
}

/** The file of an environment that comes with the package, or undefined; `gsm8k`, `tool_calling` and `tool-calling` are names. */
export function environmentFile(name: string): URL | undefined {
  const folder = name.replaceAll("_", "-")
  if (!/^[a-z0-9-]+$/.test(folder)) return undefined
  const file = new URL(`${folder}/${folder}${extension}`, folders.environments)
  return existsSync(fileURLToPath(file)) ? file : undefined
}

/**
 * The module that a command's `<module or name>` means: a name of an environment that comes with the package,
 * a file or a folder `x` with `x/x.ts` below the working directory, or a package installed there.
 */
export function resolveEnvironmentModule(nameOrPath: string, workingDirectory: string): URL {
  const byName = environmentFile(nameOrPath)
  if (byName !== undefined) return byName
  const path = resolve(workingDirectory, nameOrPath)
  const inFolder = [".ts", ".js"].map((suffix) => join(path, basename(path) + suffix))
  const file = [path, ...inFolder].find((candidate) => /\.[cm]?[jt]s$/.test(candidate) && existsSync(candidate))
  if (file !== undefined) return pathToFileURL(file)
  if (/^[@a-z]/i.test(nameOrPath)) {
    try {
      return pathToFileURL(createRequire(join(workingDirectory, "index.js")).resolve(nameOrPath))
    } catch {
      // Not an installed package either: said below.
    }
  }
  const names = environmentNames()
  const near = nearest(nameOrPath.replaceAll("-", "_"), names)
  throw new AtroposError(
    "bad-option",
    `there is no environment ${JSON.stringify(nameOrPath)}: no file or package below ${workingDirectory}, and none of ${names.join(", ")}` +
      (near === undefined ? "" : `; did you mean ${near}?`) +
      (sep === "/" && nameOrPath.includes("\\") ? "; folders are separated by / here" : ""),
  )
}
