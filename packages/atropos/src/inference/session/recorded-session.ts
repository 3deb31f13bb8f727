import { randomUUID } from "node:crypto"

import type { HistoryPolicy } from "../../chat/bridge/bridge.ts"
import { ConversationRecord, type PreparedPrompt } from "../../chat/bridge/conversation-record.ts"
import type { SharedPolicy } from "../../chat/bridge/training-paths.ts"
import { TurnTokens } from "../../chat/bridge/turn-tokens.ts"
import { createChatTemplate, type ChatTemplate } from "../../chat/chat-template.ts"
import type { ChatMessage, ChatTool } from "../../chat/messages.ts"
import type { TemplateInput } from "../../chat/template/values/convert.ts"
import { toolCallFormatOf } from "../../chat/tool-call-format.ts"
import type { Tokenizer } from "../../chat/tokenizer.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { InferenceMessage, InferenceServer, RequestOptions, TokenCompletion } from "../inference-server.ts"
import { createAnswerParser, type AnswerParser, type AnswerParserOptions } from "./answer-parser.ts"
import { toChatMessages } from "./chat-messages.ts"
import { callPolicy, samplingFor, type PolicyCallOptions } from "./policy-call.ts"
import { SessionCounter } from "./session-counter.ts"
import { sessionSequences, type SampleFacts } from "./session-sequences.ts"
import type {
  Answer,
  CallOptions,
  SampledWith,
  SequenceOptions,
  Session,
  SessionSequence,
  ToolChoice,
} from "./session.ts"
import { callTextProvider, type TextProvider } from "./text-provider.ts"
import { checkToolChoice, isToolChoiceMet } from "./tool-choice.ts"

export interface SessionOptions extends PolicyCallOptions {
  server: Pick<InferenceServer, "completeTokens" | "name"> & Partial<TextProvider>
  tokenizer: Tokenizer
  /** @default the tokenizer's own */
  template?: ChatTemplate
  /** Which tokens end answers and turns. @default what the tokenizer tells */
  turnTokens?: TurnTokens
  /**
   * Text in contents that spells a control token stays text (see `ChatTemplateOptions`); a `template` and `turnTokens`
   * have to be made with it too. @default false
   */
  plainContents?: boolean
  /**
   * What happens where the chat template rewrites history by dropping thoughts or its generation prompt: a branch
   * (`template`), or an extension whose prompt ordinary serving would not show (`keep`). @default "template"
   */
  history?: HistoryPolicy
  /** Whether an answer that several sequences hold is trained on once. @default "once" */
  shared?: SharedPolicy
  /** Tools of calls that name none. */
  tools?: readonly ChatTool[]
  /** Template variables of calls that name none. */
  templateOptions?: Readonly<Record<string, TemplateInput>>
  /** Makes messages of sampled texts. @default calls in the format that the chat template shows, the rest as content */
  parser?: AnswerParser
  /**
   * False takes answers of a provider without token ids: their tokens are the tokenizer's reading of its text, there
   * are no logprobs, and the session says so. @default true
   */
  exact?: boolean
  split?: "train" | "eval"
  signal?: AbortSignal
  /** The sampling seed of the call with this index; undefined leaves it to the server. */
  seedOf?: (call: number) => number | undefined
  /** Called with every prompt before it is sampled from: for logs, metrics and tests. */
  onPrompt?: (prompt: PreparedPrompt<SampleFacts>) => void
  /** What templates' clocks show; read once. @default the present */
  now?: () => Date
  /** Keeps the session's requests on one server. @default a random id */
  id?: string
}

interface Call {
  index: number
  n: number
  options: CallOptions
  tools: readonly ChatTool[] | null
  toolChoice: ToolChoice
}

/** Opens a session with a policy. */
export function openSession(options: SessionOptions): Session {
  return new RecordedSession(options)
}

/** A session that keeps every sampled token, and bridges turns without tokenizing any of them anew. */
class RecordedSession implements Session {
  readonly exact: boolean
  readonly #options: SessionOptions
  readonly #record: ConversationRecord<SampleFacts>
  readonly #parser: AnswerParser
  readonly #counter = new SessionCounter()
  readonly #ended = new AbortController()
  readonly #id: string
  readonly #template: ChatTemplate | undefined
  #calls = 0

  constructor(options: SessionOptions) {
    const { now } = options
    this.#options = options
    this.exact = options.exact ?? true
    this.#id = options.id ?? randomUUID()
    const { template, turnTokens } = readingOf(options)
    this.#template = template
    this.#parser = options.parser ?? createAnswerParser(formatOf(this.#template))
    this.#record = new ConversationRecord({
      template: this.#template,
      tokens: turnTokens,
      history: options.history ?? "template",
      ...(now === undefined ? {} : { now }),
    })
  }

  get counts(): ReturnType<SessionCounter["read"]> {
    return this.#counter.read()
  }

  async chat(messages: readonly InferenceMessage[], options: CallOptions = {}): Promise<Answer> {
    return onlyChoice(await this.chatChoices(messages, 1, options))
  }

  async complete(prompt: string | readonly number[], options: CallOptions = {}): Promise<Answer> {
    return onlyChoice(await this.completeChoices(prompt, 1, options))
  }

  async chatChoices(messages: readonly InferenceMessage[], n: number, options: CallOptions = {}): Promise<Answer[]> {
    const call = this.#openCall(n, options)
    checkToolChoice(call.toolChoice, call.tools)
    const prompt = this.#record.prepareChat({
      messages: toChatMessages(messages),
      tools: call.tools,
      variables: options.templateOptions ?? this.#options.templateOptions ?? {},
    })
    return this.#sample(prompt, call)
  }

  async completeChoices(prompt: string | readonly number[], n: number, options: CallOptions = {}): Promise<Answer[]> {
    const call = this.#openCall(n, options)
    return this.#sample(this.#record.prepareRaw(prompt), call)
  }

  sequences(options: SequenceOptions = {}): SessionSequence[] {
    const { shared = this.#options.shared ?? "once", per = "leaf" } = options
    return sessionSequences(this.#record.nodes, { shared, per })
  }

  close(): Promise<void> {
    this.#ended.abort(new AtroposError("session-closed", "the session was closed while the call waited"))
    return Promise.resolve()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #openCall(n: number, options: CallOptions): Call {
    if (this.#ended.signal.aborted)
      throw new AtroposError("session-closed", "the session is closed; open another one for further calls")
    if (!Number.isInteger(n) || n < 1) throw new AtroposError("bad-option", `n must be an integer >= 1, received ${n}`)
    const index = this.#calls
    this.#calls += 1
    const tools = options.tools === undefined ? (this.#options.tools ?? null) : options.tools
    return { index, n, options, tools, toolChoice: options.toolChoice ?? "auto" }
  }

  async #sample(prompt: PreparedPrompt<SampleFacts>, call: Call): Promise<Answer[]> {
    const { server, seedOf, split } = this.#options
    const sampling = samplingFor(prompt.ids.length, call.options, {
      ...this.#options,
      n: call.n,
      seed: seedOf?.(call.index),
    })
    const signals = [this.#options.signal, call.options.signal, this.#ended.signal].filter(
      (signal) => signal !== undefined,
    )
    const request: RequestOptions = {
      signal: AbortSignal.any(signals),
      stickyKey: this.#id,
      ...(split === undefined ? {} : { split }),
    }
    this.#options.onPrompt?.(prompt)
    if (!this.exact) return this.#sampleText(prompt, call, { sampling, request })
    const { choices, sampledWith } = await callPolicy(server, prompt.ids, sampling, request)
    // Nothing below waits, so that calls side by side never see half a record.
    this.#counter.count(prompt)
    return choices.map((choice) => this.#keep(prompt, call, choice, sampledWith))
  }

  #keep(prompt: PreparedPrompt<SampleFacts>, call: Call, choice: TokenCompletion, sampledWith: SampledWith): Answer {
    const { tokenIds, logprobs, versions } = choice
    const text = this.#handedOutText(choice, call)
    const parsed =
      prompt.chat === undefined
        ? { message: { role: "assistant", content: text }, finishReason: choice.finishReason }
        : this.#parser(
            { text, tokenIds, finishReason: choice.finishReason },
            { tools: call.toolChoice === "none" ? null : call.tools },
          )
    const { message, finishReason } = parsed
    const node = this.#record.add(prompt, {
      ids: tokenIds,
      message: prompt.chat === undefined ? undefined : message,
      facts: { call: call.index, logprobs, versions, sampledWith, finishReason, exact: true },
    })
    return { index: node.index, text, message, finishReason, tokenIds, logprobs, ...choiceMet(prompt, call, message) }
  }

  /** The sampled text; what a stop string cut away is not handed out, though its tokens stay. */
  #handedOutText({ tokenIds, text }: TokenCompletion, { options }: Call): string {
    const sampled = this.#record.answerText(tokenIds)
    const stops = options.stop ?? this.#options.sampling?.stop ?? []
    return stops.length > 0 && text !== "" && sampled.startsWith(text) ? text : sampled
  }

  async #sampleText(
    prompt: PreparedPrompt<SampleFacts>,
    call: Call,
    { sampling, request }: { sampling: ReturnType<typeof samplingFor>; request: RequestOptions },
  ): Promise<Answer[]> {
    const { answers, sampledWith } = await callTextProvider(this.#options.server, {
      prompt,
      tools: call.tools,
      toolChoice: call.toolChoice,
      sampling,
      request,
      template: this.#template,
    })
    this.#counter.count(prompt)
    return answers.map(({ message, text, sampled, finishReason }) => {
      const tokenIds = this.#options.tokenizer.encode(sampled)
      const facts = { call: call.index, logprobs: undefined, versions: [], sampledWith, finishReason, exact: false }
      const kept: ChatMessage | undefined = prompt.chat === undefined ? undefined : message
      const node = this.#record.add(prompt, { ids: tokenIds, message: kept, facts })
      const met = choiceMet(prompt, call, message)
      return { index: node.index, text, message, finishReason, tokenIds, logprobs: [], ...met }
    })
  }
}

function choiceMet(
  { chat }: PreparedPrompt<SampleFacts>,
  { toolChoice, tools }: Call,
  message: ChatMessage,
): Pick<Answer, "toolChoiceMet"> {
  const met = chat === undefined ? undefined : isToolChoiceMet(toolChoice, message, tools)
  return met === undefined ? {} : { toolChoiceMet: met }
}

/** How the session writes and encodes conversations: both sides have to agree on what is plain. */
function readingOf(options: SessionOptions): { template: ChatTemplate | undefined; turnTokens: TurnTokens } {
  const { tokenizer, plainContents = false } = options
  const own = tokenizer.chatTemplate === undefined ? undefined : createChatTemplate(tokenizer, { plainContents })
  const template = options.template ?? own
  const turnTokens = options.turnTokens ?? new TurnTokens(tokenizer, { plainContents })
  const sides = [turnTokens.plainContents, ...(template === undefined ? [] : [template.plainContents ?? false])]
  if (sides.some((plain) => plain !== plainContents))
    throw new AtroposError(
      "bad-option",
      `plainContents has to be the same for the session, its template and its turnTokens; the session has ${plainContents}`,
    )
  if (plainContents && options.exact === false)
    throw new AtroposError(
      "bad-option",
      "plainContents is for sessions that send token ids: a provider that is sent texts encodes them its own way",
    )
  return { template, turnTokens }
}

function formatOf(template: ChatTemplate | undefined): AnswerParserOptions {
  const toolCallFormat = template === undefined ? undefined : toolCallFormatOf(template.toolSource ?? template.source)
  return toolCallFormat === undefined ? {} : { toolCallFormat }
}

function onlyChoice([answer]: readonly Answer[]): Answer {
  if (answer === undefined) throw new AtroposError("inference-answer", "the policy answered without a choice")
  return answer
}
