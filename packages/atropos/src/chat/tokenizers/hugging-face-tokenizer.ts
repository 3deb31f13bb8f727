import { Tokenizer as LibraryTokenizer } from "@huggingface/tokenizers"

import { AtroposError } from "../../runtime/errors.ts"
import type { TokenIdList } from "../token-ids.ts"
import type { Tokenizer } from "../tokenizer.ts"
import { withSplitSpelled } from "./byte-level-split.ts"
import { byteOf, textOfBytes } from "./byte-tokens.ts"
import {
  generationConfigSchema,
  tokenizerConfigSchema,
  tokenizerJsonSchema,
  type TokenizerFiles,
} from "./tokenizer-files.ts"

const specialTokenNames = [
  "bos_token",
  "eos_token",
  "unk_token",
  "sep_token",
  "pad_token",
  "cls_token",
  "mask_token",
] as const

/** Decoders of these kinds treat the first token's leading space apart. */
const startStrippingDecoder = /"type":\s*"(Strip|Metaspace|WordPiece|BPEDecoder)"/
const byteDecoder = /"type":\s*"ByteFallback"/

/** A tokenizer made of a model folder's files, by the pure-JavaScript library. */
export class HuggingFaceTokenizer implements Tokenizer {
  readonly name: string
  readonly vocabularySize: number
  readonly bosToken: string | undefined
  readonly eosToken: string | undefined
  readonly eosTokenId: number | undefined
  readonly stopTokenIds: readonly number[]
  readonly chatTemplate: string | undefined
  readonly toolChatTemplate: string | undefined
  readonly specialTokens: Readonly<Record<string, string>>
  readonly addedTokens: ReadonlyMap<string, number>
  readonly #library: LibraryTokenizer
  readonly #addedIds: ReadonlySet<number>
  readonly #specialIds: ReadonlySet<number>
  readonly #anchor: { id: number; textLength: number } | undefined
  readonly #fallsBackToBytes: boolean

  constructor(name: string, files: TokenizerFiles) {
    const json = parseFile(name, "tokenizer.json", files["tokenizer.json"], tokenizerJsonSchema)
    const readConfig = (file: "tokenizer_config.json" | "special_tokens_map.json") =>
      parseFile(name, file, files[file] ?? "{}", tokenizerConfigSchema)
    const config = readConfig("tokenizer_config.json")
    const special = readConfig("special_tokens_map.json")
    const generation = parseFile(
      name,
      "generation_config.json",
      files["generation_config.json"] ?? "{}",
      generationConfigSchema,
    )

    this.name = name
    try {
      this.#library = new LibraryTokenizer({ ...json, pre_tokenizer: withSplitSpelled(json.pre_tokenizer) }, config)
    } catch (error) {
      throw new AtroposError("bad-tokenizer", `the tokenizer of ${name} is of a kind that is not supported`, {
        cause: error,
      })
    }
    this.addedTokens = new Map(json.added_tokens.map((token) => [token.content, token.id]))
    this.#addedIds = new Set(this.addedTokens.values())
    this.#specialIds = new Set(json.added_tokens.filter((token) => token.special).map((token) => token.id))
    this.vocabularySize = this.#library.model?.vocab.length ?? 0

    const specialTokens: Record<string, string> = {}
    for (const key of specialTokenNames) {
      const text = config[key] ?? special[key]
      if (text !== null && text !== undefined) specialTokens[key] = text
    }
    this.specialTokens = specialTokens
    this.bosToken = specialTokens["bos_token"]
    this.eosToken = specialTokens["eos_token"]
    this.eosTokenId = this.eosToken === undefined ? undefined : this.tokenToId(this.eosToken)

    const generationEnds = generation.eos_token_id ?? []
    this.stopTokenIds = [
      ...new Set([
        ...(this.eosTokenId === undefined ? [] : [this.eosTokenId]),
        ...(typeof generationEnds === "number" ? [generationEnds] : generationEnds),
      ]),
    ]

    const templates = config.chat_template ?? undefined
    if (typeof templates === "string" || templates === undefined) {
      this.chatTemplate = files["chat_template.jinja"] ?? templates
    } else {
      const named = new Map(templates.map((entry) => [entry.name, entry.template]))
      this.chatTemplate = files["chat_template.jinja"] ?? named.get("default")
      this.toolChatTemplate = named.get("tool_use")
    }

    const decoder = JSON.stringify(json.decoder ?? null)
    this.#fallsBackToBytes = byteDecoder.test(decoder)
    if (startStrippingDecoder.test(decoder)) {
      const id = this.encode("a").at(-1)
      if (id !== undefined) this.#anchor = { id, textLength: this.#decode([id]).length }
    }
  }

  encode(text: string): number[] {
    return text === "" ? [] : this.#library.encode(text, { add_special_tokens: false }).ids
  }

  encodePlain(text: string): number[] {
    const { normalizer, pre_tokenizer: preTokenizer, model } = this.#library
    if (text === "" || model === null) return []
    const normal = normalizer === null ? text : normalizer.normalize(text)
    const words = preTokenizer === null ? [normal] : preTokenizer.pre_tokenize(normal)
    return model._call(words).map((token: string) => model.tokens_to_ids.get(token) ?? model.unk_token_id ?? -1)
  }

  decode(ids: TokenIdList): string {
    // Models have more rows than the vocabulary has tokens; such an id has no text.
    const known = Array.from(ids).filter((id) => this.idToToken(id) !== undefined)
    if (!this.#fallsBackToBytes) return this.#decodeInside(known)
    // The library replaces other runs of bytes than the reference, and loses a byte order mark.
    let text = ""
    for (let at = 0; at < known.length;) {
      const from = at
      const bytes: number[] = []
      for (let byte = this.#byteAt(known, at); byte !== undefined; byte = this.#byteAt(known, at)) {
        bytes.push(byte)
        at += 1
      }
      if (bytes.length > 0) text += textOfBytes(bytes)
      else {
        while (at < known.length && this.#byteAt(known, at) === undefined) at += 1
        text += this.#decodeInside(known.slice(from, at))
      }
    }
    return text
  }

  #byteAt(ids: readonly number[], index: number): number | undefined {
    const id = ids[index]
    return id === undefined ? undefined : byteOf(this.idToToken(id))
  }

  /** As the ids would read after other text. */
  #decodeInside(ids: number[]): string {
    if (ids.length === 0) return ""
    if (this.#anchor === undefined) return this.#decode(ids)
    return this.#decode([this.#anchor.id, ...ids]).slice(this.#anchor.textLength)
  }

  #decode(ids: number[]): string {
    return this.#library.decode(ids, { skip_special_tokens: false, clean_up_tokenization_spaces: false })
  }

  tokenToId(token: string): number | undefined {
    return this.#library.token_to_id(token)
  }

  idToToken(id: number): string | undefined {
    return this.#library.id_to_token(id)
  }

  isAddedToken(id: number): boolean {
    return this.#addedIds.has(id)
  }

  isSpecialToken(id: number): boolean {
    return this.#specialIds.has(id)
  }
}

function parseFile<T>(name: string, file: string, text: string, schema: { parse(value: unknown): T }): T {
  try {
    return schema.parse(JSON.parse(text))
  } catch (error) {
    throw new AtroposError("bad-tokenizer", `${file} of ${name} is not valid: ${String(error)}`, { cause: error })
  }
}
