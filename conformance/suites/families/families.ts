import { existsSync, readFileSync, statSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import {
  createChatTemplate,
  type ArgumentsForm,
  type ChatTemplate,
} from "../../../packages/atropos/src/chat/chat-template.ts"
import type { Tokenizer } from "../../../packages/atropos/src/chat/tokenizer.ts"
import { HuggingFaceTokenizer } from "../../../packages/atropos/src/chat/tokenizers/hugging-face-tokenizer.ts"
import { optionalFiles, type TokenizerFiles } from "../../../packages/atropos/src/chat/tokenizers/tokenizer-files.ts"
import { packageFolder } from "./tokenizer-packages.ts"

const ownVectors = fileURLToPath(new URL("../../vectors/", import.meta.url))

/** An entry of families.json. */
interface FamilyEntry {
  tokenizer: { npm: string; version: string; folder: string } | { shared: string }
  template: string
  bos?: string | null
  eos?: string | null
  stop?: Record<string, number>
  close?: Record<string, number>
  arguments?: "object" | "string" | null
  boundaryAnchor?: string | null
}

export interface Family {
  name: string
  tokenizer: Tokenizer
  template: ChatTemplate
  /** Tokens that end a sample, and those that do nothing but end a turn. */
  stop: readonly number[]
  close: readonly number[]
  boundaryAnchor: string | undefined
}

export interface FamiliesOptions {
  /** Fetches tokenizers that are npm packages; else their families are missing. @default true */
  packages?: boolean
}

/**
 * Finds families by name: in the folder of a case's file and those above it, up to one above the given path, then in
 * our own vectors.
 */
export class Families {
  readonly #start: string
  readonly #tokenizers = new Map<string, Tokenizer>()
  readonly #families = new Map<string, Family>()
  readonly #packages: boolean

  constructor(root: string, options: FamiliesOptions = {}) {
    this.#packages = options.packages ?? true
    this.#start = statSync(root).isDirectory() ? resolve(root) : dirname(resolve(root))
  }

  /** The family that a case of `file` means, or the reason why there is none here. */
  find(name: string, file: string = join(this.#start, "cases")): Family | { missing: string } {
    const places = this.#placesFor(file)
    for (const place of places) {
      const list = join(place, "families.json")
      if (!existsSync(list)) continue
      const known = this.#families.get(`${list} ${name}`)
      if (known !== undefined) return known
      const entry = (JSON.parse(readFileSync(list, "utf8")) as Record<string, FamilyEntry>)[name]
      if (entry === undefined) continue
      const family = this.#load(name, entry, places)
      if (!("missing" in family)) this.#families.set(`${list} ${name}`, family)
      return family
    }
    return { missing: `no families.json names ${name}` }
  }

  #placesFor(file: string): string[] {
    const places: string[] = []
    for (let folder = dirname(resolve(file)); isInside(folder, this.#start); folder = dirname(folder))
      places.push(folder)
    return [...places, dirname(this.#start), ownVectors]
  }

  #load(name: string, entry: FamilyEntry, places: readonly string[]): Family | { missing: string } {
    if ("npm" in entry.tokenizer && !this.#packages) return { missing: "its tokenizer is large" }
    let folder: string | undefined
    try {
      folder = tokenizerFolder(entry.tokenizer, places)
    } catch (error) {
      return { missing: `its tokenizer cannot be fetched: ${error instanceof Error ? error.message : String(error)}` }
    }
    if (folder === undefined) return { missing: "its tokenizer is nowhere to be found" }
    const own = this.#tokenizer(folder)
    const source = entry.template === "package" ? own.chatTemplate : readFrom(places, entry.template)
    if (source === undefined) return { missing: `there is no template ${entry.template}` }
    const tokenizer = withSpecialTokens(own, entry)
    return {
      name,
      tokenizer,
      template: createChatTemplate(tokenizer, { template: source, ...argumentsForm(entry.arguments) }),
      stop: Object.values(entry.stop ?? {}),
      close: Object.values(entry.close ?? {}),
      boundaryAnchor: entry.boundaryAnchor ?? undefined,
    }
  }

  #tokenizer(folder: string): Tokenizer {
    const known = this.#tokenizers.get(folder)
    if (known !== undefined) return known
    const files: TokenizerFiles = { "tokenizer.json": readFileSync(join(folder, "tokenizer.json"), "utf8") }
    for (const file of optionalFiles)
      if (existsSync(join(folder, file))) files[file] = readFileSync(join(folder, file), "utf8")
    const tokenizer = new HuggingFaceTokenizer(folder, files)
    this.#tokenizers.set(folder, tokenizer)
    return tokenizer
  }
}

function isInside(folder: string, start: string): boolean {
  return !relative(start, folder).startsWith("..")
}

function tokenizerFolder(tokenizer: FamilyEntry["tokenizer"], places: readonly string[]): string | undefined {
  if ("npm" in tokenizer) return join(packageFolder(tokenizer.npm, tokenizer.version), tokenizer.folder)
  return places.map((place) => resolve(place, tokenizer.shared)).find((folder) => existsSync(folder))
}

function readFrom(places: readonly string[], file: string): string | undefined {
  const found = places.map((place) => resolve(place, file)).find((path) => existsSync(path))
  return found === undefined ? undefined : readFileSync(found, "utf8")
}

function argumentsForm(form: FamilyEntry["arguments"]): { arguments?: ArgumentsForm } {
  return form === null || form === undefined ? {} : { arguments: form === "string" ? "text" : "object" }
}

/** The vocabulary of the package with the start and end tokens of the family. */
function withSpecialTokens(tokenizer: Tokenizer, entry: FamilyEntry): Tokenizer {
  const bosToken = entry.bos ?? undefined
  const eosToken = entry.eos ?? undefined
  const specialTokens = { ...tokenizer.specialTokens }
  for (const [name, token] of [
    ["bos_token", bosToken],
    ["eos_token", eosToken],
  ] as const)
    if (token === undefined) delete specialTokens[name]
    else specialTokens[name] = token
  return {
    name: tokenizer.name,
    vocabularySize: tokenizer.vocabularySize,
    chatTemplate: tokenizer.chatTemplate,
    toolChatTemplate: tokenizer.toolChatTemplate,
    addedTokens: tokenizer.addedTokens,
    bosToken,
    eosToken,
    eosTokenId: eosToken === undefined ? undefined : tokenizer.tokenToId(eosToken),
    stopTokenIds: Object.values(entry.stop ?? {}),
    specialTokens,
    encode: (text) => tokenizer.encode(text),
    decode: (ids) => tokenizer.decode(ids),
    tokenToId: (token) => tokenizer.tokenToId(token),
    idToToken: (id) => tokenizer.idToToken(id),
    isAddedToken: (id) => tokenizer.isAddedToken(id),
  }
}
