// The forest of a session's samples: finds what a prompt continues, and never changes what it holds.
import { AtroposError } from "../../runtime/errors.ts"
import type { ChatTemplate } from "../chat-template.ts"
import { KeptMessages } from "../kept-messages.ts"
import type { ChatMessage } from "../messages.ts"
import { TokenIds } from "../token-ids.ts"
import {
  bridge,
  renderPieces,
  type BranchReason,
  type BridgeRequest,
  type Fidelity,
  type HistoryPolicy,
  type TurnClose,
} from "./bridge.ts"
import { lastId, pathTo, type ChatPrompt, type ConversationNode, type Entry, type Sample } from "./conversation-node.ts"
import { copyJson } from "./copy-json.ts"
import { MessageIndex } from "./message-index.ts"
import { textFrom } from "./pieces.ts"
import { RawIndex } from "./raw-index.ts"
import { writtenAlike } from "./same-json.ts"
import type { TurnTokens } from "./turn-tokens.ts"

export interface ConversationRecordOptions {
  /** Undefined for sessions of raw completions only. */
  template: ChatTemplate | undefined
  tokens: TurnTokens
  /** @default "template" */
  history?: HistoryPolicy
  /** Read once, at the first call: a session's clock stands still. @default the present */
  now?: () => Date
}

/** How a prompt stands to what the session knows. */
export type PromptOutcome<Facts> =
  | { outcome: "start" }
  | { outcome: "branch"; reason: BranchReason }
  | {
      outcome: "extend"
      continues: ConversationNode<Facts>
      added: { text: string; ids: readonly number[] }
      fidelity: Fidelity
      close: TurnClose
    }

/** A prompt that is ready to be sampled from. */
export type PreparedPrompt<Facts> = PromptOutcome<Facts> & {
  /** All ids to send. */
  ids: TokenIds
  /** Ids that no earlier sample's path has. */
  newIds: readonly number[]
  text: string
  chat: ChatPrompt<Facts> | undefined
}

export class ConversationRecord<Facts> {
  readonly #options: ConversationRecordOptions
  readonly #messages = new MessageIndex<Facts>()
  readonly #raw = new RawIndex<Facts>()
  readonly #nodes: ConversationNode<Facts>[] = []
  readonly #kept = new KeptMessages()
  /** All ids of the prompts that no sample goes on from yet. */
  readonly #leafPrompts = new Map<ConversationNode<Facts>, TokenIds>()
  #time: Date | undefined
  #tools: BridgeRequest["tools"] = null
  #variables: BridgeRequest["variables"] = {}

  constructor(options: ConversationRecordOptions) {
    this.#options = options
  }

  get nodes(): readonly ConversationNode<Facts>[] {
    return this.#nodes
  }

  /** Text of a sample without the token that ended it. */
  answerText(ids: readonly number[]): string {
    return this.#options.tokens.answerText(ids)
  }

  readonly #now = (): Date => {
    this.#time ??= this.#options.now?.() ?? new Date()
    return this.#time
  }

  /**
   * The prompt of a chat. Throws what the template raises; then nothing has happened. Of what the prompt is made of it
   * keeps copies: clients go on with their own messages and tools, and may change them.
   */
  prepareChat({ messages, ...given }: BridgeRequest): PreparedPrompt<Facts> {
    const { template, tokens, history = "template" } = this.#options
    const tools = (this.#tools = standing(this.#tools, given.tools))
    const variables = (this.#variables = standing(this.#variables, given.variables))
    if (template === undefined)
      throw new AtroposError(
        "bad-template",
        `${tokens.tokenizer.name} has no chat template, so there is no way to write a conversation; pass one, or complete a raw prompt`,
      )
    const context = { template, tokens, history, now: this.#now, kept: this.#kept }
    const found = this.#messages.find(messages)
    if (found?.chat === undefined || found.message === undefined) {
      const given = copyJson(messages)
      const pieces = renderPieces({ messages: given, tools, variables }, context)
      const text = textFrom(pieces)
      const entries = given.map((message): Entry<Facts> => ({ message, own: undefined }))
      const outcome = this.#rootOutcome(messages)
      return { ...outcome, ...this.#allNew(text), chat: { entries, given, tools, variables, pieces } }
    }
    const newMessages = copyJson(messages.slice(found.chat.entries.length + 1))
    const result = bridge(found, newMessages, { messages, tools, variables }, context)
    const entries = [
      ...found.chat.entries,
      { message: found.message, own: found },
      ...newMessages.map((message): Entry<Facts> => ({ message, own: undefined })),
    ]
    const { pieces } = result
    const text = textFrom(pieces)
    const chat = { entries, given: result.given, tools, variables, pieces }
    if (result.kind === "branch") return { outcome: "branch", reason: result.reason, ...this.#allNew(text), chat }
    const { added, fidelity, close } = result
    return { outcome: "extend", continues: found, fidelity, close, ...this.#goOn(found, added), text, chat }
  }

  #rootOutcome(messages: readonly ChatMessage[]): PromptOutcome<Facts> {
    const [first] = messages
    if (this.#nodes.length === 0) return { outcome: "start" }
    const known = first !== undefined && this.#messages.knows(first)
    return { outcome: "branch", reason: known ? "message-edited" : "new-conversation" }
  }

  #allNew(text: string): { ids: TokenIds; newIds: readonly number[]; text: string } {
    const newIds = this.#encode(text)
    return { ids: TokenIds.copy(newIds), newIds, text }
  }

  /** All ids up to the end of a node's sample, and what is to follow them. */
  #goOn<Added extends { ids: readonly number[] }>(
    node: ConversationNode<Facts>,
    added: Added,
  ): { ids: TokenIds; newIds: readonly number[]; added: Added } {
    const prompt = this.#leafPrompts.get(node)
    const ids =
      prompt === undefined
        ? TokenIds.copy([]).followedBy(...pathTo(node).flatMap(({ added, ids }) => [added, ids]), added.ids)
        : prompt.followedBy(node.ids, added.ids)
    return { ids, newIds: added.ids, added }
  }

  #encode(text: string): number[] {
    return this.#options.tokens.encodeAfter(undefined, text)
  }

  /** What the template writes for an answer after its prompt, for one of whose tokens nothing is known. */
  writtenAnswer({ chat, text }: PreparedPrompt<Facts>, message: ChatMessage): string | undefined {
    const { template } = this.#options
    if (chat === undefined || template === undefined) return undefined
    const { given, tools, variables } = chat
    const messages = [...given, message]
    const whole = template.render({ messages, tools, variables, addGenerationPrompt: false, now: this.#now })
    return whole.startsWith(text) ? whole.slice(text.length).trimEnd() : undefined
  }

  /** The tokenizer's reading of an answer in its place; one that was cut has no end of turn. */
  readAnswer({ ids }: PreparedPrompt<Facts>, text: string, { wasCut }: { wasCut: boolean }): number[] {
    const { tokens } = this.#options
    const read = tokens.encodeAfter(ids.at(-1), text)
    return wasCut && tokens.endsTurn(read.at(-1)) ? read.slice(0, -1) : read
  }

  /** The prompt of a raw completion: goes on from the longest earlier text (or ids) that it begins with. */
  prepareRaw(prompt: string | readonly number[]): PreparedPrompt<Facts> {
    const { tokens } = this.#options
    const decode = (ids: readonly number[]): string => tokens.tokenizer.decode(ids)
    const text = typeof prompt === "string" ? prompt : decode(prompt)
    const found = typeof prompt === "string" ? this.#raw.findText(prompt, decode) : this.#raw.findIds(prompt)
    if (found === undefined) {
      const newIds = typeof prompt === "string" ? this.#encode(prompt) : prompt.slice()
      const outcome: PromptOutcome<Facts> =
        this.#nodes.length === 0 ? { outcome: "start" } : { outcome: "branch", reason: "new-conversation" }
      return { ...outcome, ids: TokenIds.copy(newIds), newIds, text, chat: undefined }
    }
    const { node, rest, verbatim } = found
    const added =
      "text" in rest
        ? { text: rest.text, ids: tokens.encodeAfter(lastId(node), rest.text) }
        : { text: decode(rest.ids), ids: rest.ids }
    return {
      outcome: "extend",
      continues: node,
      fidelity: verbatim ? "exact" : "respelled",
      close: "none",
      ...this.#goOn(node, added),
      text,
      chat: undefined,
    }
  }

  /** Keeps a copy of what was sampled from a prompt; several samples of one prompt are nodes of their own. */
  add(prompt: PreparedPrompt<Facts>, sample: Sample<Facts>): ConversationNode<Facts> {
    const parent = prompt.outcome === "extend" ? prompt.continues : undefined
    const node: ConversationNode<Facts> = {
      index: this.#nodes.length,
      parent,
      added: prompt.newIds,
      ids: sample.ids.slice(),
      promptLength: prompt.ids.length,
      text: prompt.text,
      answerText: this.#options.tokens.answerText(sample.ids),
      chat: prompt.chat,
      message: copyJson(sample.message),
      facts: sample.facts,
      children: [],
    }
    this.#nodes.push(node)
    this.#leafPrompts.set(node, prompt.ids)
    if (parent !== undefined) this.#leafPrompts.delete(parent)
    parent?.children.push(node)
    this.#messages.add(node)
    this.#raw.add(node)
    return node
  }
}

/** The value as it was kept before, or a copy where it was another. */
function standing<Value>(kept: Value, given: Value): Value {
  return writtenAlike(kept, given) ? kept : copyJson(given)
}
