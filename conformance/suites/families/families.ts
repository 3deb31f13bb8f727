import { existsSync, readFileSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

import {
  createChatTemplate,
  type ArgumentsForm,
  type ChatTemplate,
} from "../../../packages/atropos/src/chat/chat-template.ts"
import type { Tokenizer } from "../../../packages/atropos/src/chat/tokenizer.ts"
import { HuggingFaceTokenizer } from "../../../packages/atropos/src/chat/tokenizers/hugging-face-tokenizer.ts"
import { packageFolder } from "./tokenizer-packages.ts"

const ownVectors = fileURLToPath(new URL("../../vectors/", import.meta.url))

/** An entry of families.json. */
interface FamilyEntry {
  tokenizer: { npm: string; version: string; folder: string } | { shared: string }
  template: string
  bos: string | null
  eos: string | null
  stop: Record<string, number>
  close: Record<string, number>
  arguments: "object" | "string" | null
  boundaryAnchor: string | null
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

/** Finds families by name, for cases under `root`: beside it, one folder up, then in our own vectors. */
export class Families {
  readonly #places: readonly string[]
  readonly #tokenizers = new Map<string, Tokenizer>()
  readonly #families = new Map<string, Family>()

  readonly #packages: boolean

  constructor(root: string, options: FamiliesOptions = {}) {
    this.#packages = options.packages ?? true
    const start = statSync(root).isDirectory() ? root : dirname(root)
    this.#places = [start, dirname(start), ownVectors]
  }

  /** The family, or the reason why there is none here. */
  find(name: string): Family | { missing: string } {
    const known = this.#families.get(name)
    if (known !== undefined) return known
    for (const place of this.#places) {
      const file = join(place, "families.json")
      if (!existsSync(file)) continue
      const entry = (JSON.parse(readFileSync(file, "utf8")) as Record<string, FamilyEntry>)[name]
      if (entry === undefined) continue
      const family = this.#load(name, entry)
      if (!("missing" in family)) this.#families.set(name, family)
      return family
    }
    return { missing: `no families.json names ${name}` }
  }

  #load(name: string, entry: FamilyEntry): Family | { missing: string } {
    if ("npm" in entry.tokenizer && !this.#packages) return { missing: "its tokenizer is large" }
    let folder: string | undefined
    try {
      folder = this.#tokenizerFolder(entry.tokenizer)
    } catch (error) {
      return { missing: `its tokenizer cannot be fetched: ${error instanceof Error ? error.message : String(error)}` }
    }
    if (folder === undefined) return { missing: "its tokenizer is nowhere to be found" }
    const own = this.#tokenizer(folder)
    const source = entry.template === "package" ? own.chatTemplate : this.#read(entry.template)
    if (source === undefined) return { missing: `there is no template ${entry.template}` }
    const tokenizer = withSpecialTokens(own, entry)
    return {
      name,
      tokenizer,
      template: createChatTemplate(tokenizer, { template: source, ...argumentsForm(entry.arguments) }),
      stop: Object.values(entry.stop),
      close: Object.values(entry.close),
      boundaryAnchor: entry.boundaryAnchor ?? undefined,
    }
  }

  #tokenizerFolder(tokenizer: FamilyEntry["tokenizer"]): string | undefined {
    if ("npm" in tokenizer) return join(packageFolder(tokenizer.npm, tokenizer.version), tokenizer.folder)
    return this.#places.map((place) => join(place, tokenizer.shared)).find((folder) => existsSync(folder))
  }

  #tokenizer(folder: string): Tokenizer {
    const known = this.#tokenizers.get(folder)
    if (known !== undefined) return known
    const config = join(folder, "tokenizer_config.json")
    const tokenizer = new HuggingFaceTokenizer(folder, {
      "tokenizer.json": readFileSync(join(folder, "tokenizer.json"), "utf8"),
      ...(existsSync(config) ? { "tokenizer_config.json": readFileSync(config, "utf8") } : {}),
    })
    this.#tokenizers.set(folder, tokenizer)
    return tokenizer
  }

  #read(file: string): string | undefined {
    const found = this.#places.map((place) => join(place, file)).find((path) => existsSync(path))
    return found === undefined ? undefined : readFileSync(found, "utf8")
  }
}

function argumentsForm(form: FamilyEntry["arguments"]): { arguments?: ArgumentsForm } {
  return form === null ? {} : { arguments: form === "string" ? "text" : "object" }
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
    stopTokenIds: Object.values(entry.stop),
    specialTokens,
    encode: (text) => tokenizer.encode(text),
    decode: (ids) => tokenizer.decode(ids),
    tokenToId: (token) => tokenizer.tokenToId(token),
    idToToken: (id) => tokenizer.idToToken(id),
    isAddedToken: (id) => tokenizer.isAddedToken(id),
  }
}
