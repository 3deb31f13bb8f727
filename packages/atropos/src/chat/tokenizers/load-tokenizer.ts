import { readFile, stat } from "node:fs/promises"
import { join, resolve } from "node:path"

import { AtroposError } from "../../runtime/errors.ts"
import type { Tokenizer } from "../tokenizer.ts"
import { HuggingFaceTokenizer } from "./hugging-face-tokenizer.ts"
import { readHubFile, resolveHubOptions, type HubOptions } from "./hub-files.ts"
import { optionalFiles, type TokenizerFiles } from "./tokenizer-files.ts"

export interface LoadTokenizerOptions extends HubOptions {}

const hubId = /^[\w.-]+(\/[\w.-]+)?$/

/**
 * Loads the tokenizer (and chat template) of a model: a directory with `tokenizer.json`, or a hub id such as
 * `Qwen/Qwen3-4B`, whose files are kept on disk.
 */
export async function loadTokenizer(pathOrHubId: string, options: LoadTokenizerOptions = {}): Promise<Tokenizer> {
  const directory = resolve(pathOrHubId)
  if (await isDirectory(directory)) {
    const read = (file: string): Promise<string | undefined> => readIfThere(join(directory, file))
    return assemble(pathOrHubId, read, join(directory, "tokenizer.json"))
  }
  if (!hubId.test(pathOrHubId))
    throw new AtroposError(
      "bad-tokenizer",
      `there is no directory ${directory}, and ${JSON.stringify(pathOrHubId)} is no hub id (owner/name)`,
      { facts: { path: directory } },
    )
  const resolved = resolveHubOptions(options)
  const read = (file: string): Promise<string | undefined> => readHubFile(pathOrHubId, file, resolved)
  return assemble(pathOrHubId, read, `the hub repository ${pathOrHubId}`)
}

async function assemble(
  name: string,
  read: (file: string) => Promise<string | undefined>,
  place: string,
): Promise<Tokenizer> {
  const tokenizerJson = await read("tokenizer.json")
  if (tokenizerJson === undefined)
    throw new AtroposError(
      "bad-tokenizer",
      `${name} has no tokenizer.json (looked for ${place}); other tokenizer files are not read`,
      { facts: { path: place } },
    )
  const files: TokenizerFiles = { "tokenizer.json": tokenizerJson }
  for (const file of optionalFiles) {
    const text = await read(file)
    if (text !== undefined) files[file] = text
  }
  return new HuggingFaceTokenizer(name, files)
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    // Not there, or not ours to read: then the name may be a hub id.
    return false
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8")
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined
    throw error
  }
}
