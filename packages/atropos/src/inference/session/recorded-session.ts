import { randomUUID } from "node:crypto"

import type { HistoryPolicy } from "../../chat/bridge/bridge.ts"
import { ConversationRecord, type PreparedPrompt } from "../../chat/bridge/conversation-record.ts"
import type { SharedPolicy } from "../../chat/bridge/training-paths.ts"
import { GrowingText } from "../../chat/bridge/growing-text.ts"
import { TurnTokens } from "../../chat/bridge/turn-tokens.ts"
import { createChatTemplate, type ChatTemplate } from "../../chat/chat-template.ts"
import type { ChatMessage, ChatTool } from "../../chat/messages.ts"
import type { TemplateInput } from "../../chat/template/values/convert.ts"
import { toolCallFormatOf } from "../../chat/tool-call-format.ts"
import type { Tokenizer } from "../../chat/tokenizer.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type {
  CompletionDelta,
  InferenceMessage,
  InferenceServer,
  RequestOptions,
  SamplingOptions,
  TokenCompletion,
} from "../inference-server.ts"
import { createAnswerParser, type AnswerParser, type AnswerParserOptions } from "./answer-parser.ts"
import { toChatMessages } from "./chat-messages.ts"
import { partsOf, type ParsedAnswer } from "./growing-answer.ts"
import { HandedOutText } from "./handed-out-text.ts"
import { piecesOf, untilStopped } from "./pieces-of.ts"
import { callPolicy, samplingFor, type PolicyCallOptions } from "./policy-call.ts"
import { SessionCounter } from "./session-counter.ts"
import { sessionSequences, type SampleFacts } from "./session-sequences.ts"
import type {
  Answer,
  AnswerDelta,
  CallOptions,
  SampledWith,
  SequenceOptions,
  Session,
  SessionSequence,
  ToolChoice,
} from "./session.ts"
import { GrowingTextAnswer } from "./growing-text-answer.ts"
import { callTextProvider, type TextAnswer, type TextProvider } from "./text-provider.ts"
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

type Prompt = PreparedPrompt<SampleFacts>

/** What a call sends beside its prompt. */
interface Sending {
  sampling: SamplingOptions
  request: RequestOptions
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
  /** Of every call: the session's end, and what its opener may abort. */
  readonly #signal: AbortSignal
  readonly #id: string
  readonly #turnTokens: TurnTokens
  #calls = 0

  constructor(options: SessionOptions) {
    const { now } = options
    this.#options = options
    this.exact = options.exact ?? true
    this.#id = options.id ?? randomUUID()
    const { signal } = this.#ended
    this.#signal = options.signal === undefined ? signal : AbortSignal.any([options.signal, signal])
    const { template, turnTokens } = readingOf(options)
    this.#turnTokens = turnTokens
    this.#parser = options.parser ?? createAnswerParser(formatOf(template))
    this.#record = new ConversationRecord({
      template,
      tokens: turnTokens,
      history: options.history ?? "template",
      ...(now === undefined ? {} : { now }),
    })
  }

  get counts(): ReturnType<SessionCounter["read"]> {
    return this.#counter.read()
  }

  async chat(messages: readonly InferenceMessage[], options: CallOptions = {}): Promise<Answer> {
    return onlyOf(await this.chatChoices(messages, 1, options))
  }

  async complete(prompt: string | readonly number[], options: CallOptions = {}): Promise<Answer> {
    return onlyOf(await this.completeChoices(prompt, 1, options))
  }

  async chatChoices(messages: readonly InferenceMessage[], n: number, options: CallOptions = {}): Promise<Answer[]> {
    const call = this.#openCall(n, options)
    return this.#sample(this.#prepareChat(messages, call), call)
  }

  async completeChoices(prompt: string | readonly number[], n: number, options: CallOptions = {}): Promise<Answer[]> {
    const call = this.#openCall(n, options)
    return this.#sample(this.#record.prepareRaw(prompt), call)
  }

  chatStream(messages: readonly InferenceMessage[], options: CallOptions = {}): AsyncIterableIterator<AnswerDelta> {
    return this.#stream(options, (call) => this.#prepareChat(messages, call))
  }

  completeStream(prompt: string | readonly number[], options: CallOptions = {}): AsyncIterableIterator<AnswerDelta> {
    return this.#stream(options, () => this.#record.prepareRaw(prompt))
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

  #prepareChat(messages: readonly InferenceMessage[], call: Call): Prompt {
    checkToolChoice(call.toolChoice, call.tools)
    return this.#record.prepareChat({
      messages: toChatMessages(messages),
      tools: call.tools,
      variables: call.options.templateOptions ?? this.#options.templateOptions ?? {},
    })
  }

  /** What to send for a prompt that is about to be sampled from. */
  #sendingOf(prompt: Prompt, call: Call, stopped?: AbortSignal): Sending {
    const { seedOf, split } = this.#options
    const sampling = samplingFor(prompt.ids.length, call.options, {
      ...this.#options,
      n: call.n,
      seed: seedOf?.(call.index),
    })
    const own = [call.options.signal, stopped].filter((signal) => signal !== undefined)
    const signal = own.length === 0 ? this.#signal : AbortSignal.any([this.#signal, ...own])
    this.#options.onPrompt?.(prompt)
    const request = { signal, stickyKey: this.#id, ...(split === undefined ? {} : { split }) }
    return { sampling, request }
  }

  async #sample(prompt: Prompt, call: Call): Promise<Answer[]> {
    const sending = this.#sendingOf(prompt, call)
    if (!this.exact) {
      const { answers, sampledWith } = await this.#askForText(prompt, call, sending)
      this.#counter.count(prompt)
      return answers.map((answer) => this.#keepText(prompt, call, answer, sampledWith))
    }
    const { choices, sampledWith } = await callPolicy(
      this.#options.server,
      prompt.ids,
      sending.sampling,
      sending.request,
    )
    const read = choices.map((choice) => {
      const { tokenIds, finishReason } = choice
      const text = this.#handedOutText(choice, call)
      const parsed = this.#parserOf(prompt)({ text, tokenIds, finishReason }, { tools: readTools(call) })
      return { choice, text, parsed, sampledWith }
    })
    // Nothing below waits or fails, so that nobody ever sees half a record.
    this.#counter.count(prompt)
    return read.map((sample) => this.#keep(prompt, call, sample))
  }

  #stream(options: CallOptions, prepare: (call: Call) => Prompt): AsyncIterableIterator<AnswerDelta> {
    return untilStopped((stopped) => {
      const call = this.#openCall(1, options)
      const prompt = prepare(call)
      const sending = this.#sendingOf(prompt, call, stopped)
      return this.exact ? this.#streamSample(prompt, call, sending) : this.#streamText(prompt, call, sending)
    })
  }

  async *#streamSample(
    prompt: Prompt,
    call: Call,
    { sampling, request }: Sending,
  ): AsyncGenerator<AnswerDelta, void, undefined> {
    const parser = this.#parserOf(prompt)
    const reader = parser.read?.({ tools: readTools(call) })
    const growing = new HandedOutText(new GrowingText(this.#turnTokens), this.#stopsOf(call))
    const { server } = this.#options
    const calling = piecesOf((onDelta: (delta: CompletionDelta) => void) =>
      callPolicy(server, prompt.ids, sampling, { ...request, onDelta }),
    )
    let step = await calling.next()
    for (; step.done !== true; step = await calling.next())
      if (reader !== undefined) yield* reader.push(growing.push(step.value))
    const { choices, sampledWith, usage } = step.value
    const choice = onlyOf(choices)
    const { tokenIds, finishReason } = choice
    const text = this.#handedOutText(choice, call)
    let parsed: ParsedAnswer
    if (reader === undefined) {
      parsed = parser({ text, tokenIds, finishReason }, { tools: readTools(call) })
      yield* partsOf(parsed.message)
    } else {
      yield* reader.push(growing.rest(text))
      const { parts, answer } = reader.end(finishReason)
      parsed = answer
      yield* parts
    }
    request.signal?.throwIfAborted()
    // Whoever asks for the end has had all that comes before.
    this.#counter.count(prompt)
    const answer = this.#keep(prompt, call, { choice, text, parsed, sampledWith })
    yield { type: "end", answer, finishReason: answer.finishReason, usage }
  }

  async *#streamText(prompt: Prompt, call: Call, sending: Sending): AsyncGenerator<AnswerDelta, void, undefined> {
    const growing = new GrowingTextAnswer()
    const { request } = sending
    const calling = piecesOf((onDelta: (delta: CompletionDelta) => void) =>
      this.#askForText(prompt, call, { ...sending, request: { ...request, onDelta } }),
    )
    let step = await calling.next()
    for (; step.done !== true; step = await calling.next()) yield* growing.push(step.value)
    const { answers, sampledWith, usage } = step.value
    const answered = onlyOf(answers)
    yield* growing.rest(answered.message)
    request.signal?.throwIfAborted()
    this.#counter.count(prompt)
    const answer = this.#keepText(prompt, call, answered, sampledWith)
    yield { type: "end", answer, finishReason: answer.finishReason, usage }
  }

  #keep(
    prompt: Prompt,
    call: Call,
    sample: { choice: TokenCompletion; text: string; parsed: ParsedAnswer; sampledWith: SampledWith },
  ): Answer {
    const { choice, text, parsed, sampledWith } = sample
    const { tokenIds, logprobs, versions } = choice
    const { message, finishReason } = parsed
    const node = this.#record.add(prompt, {
      ids: tokenIds,
      message: prompt.chat === undefined ? undefined : message,
      facts: { call: call.index, logprobs: logprobs.slice(), versions, sampledWith, finishReason, exact: true },
    })
    return { index: node.index, text, message, finishReason, tokenIds, logprobs, ...choiceMet(prompt, call, message) }
  }

  /** Raw completions have no thoughts and no calls. */
  #parserOf(prompt: Prompt): AnswerParser {
    return prompt.chat === undefined ? plainParser : this.#parser
  }

  #stopsOf({ options }: Call): readonly string[] {
    return options.stop ?? this.#options.sampling?.stop ?? []
  }

  /** The sampled text; what a stop string cut away is not handed out, though its tokens stay. */
  #handedOutText({ tokenIds, text }: TokenCompletion, call: Call): string {
    const sampled = this.#record.answerText(tokenIds)
    return this.#stopsOf(call).length > 0 && text !== "" && sampled.startsWith(text) ? text : sampled
  }

  #askForText(prompt: Prompt, call: Call, sending: Sending): ReturnType<typeof callTextProvider> {
    const { tools, toolChoice } = call
    const written = (message: ChatMessage): string | undefined => this.#record.writtenAnswer(prompt, message)
    return callTextProvider(this.#options.server, { prompt, tools, toolChoice, ...sending, written })
  }

  #keepText(prompt: Prompt, call: Call, answer: TextAnswer, sampledWith: SampledWith): Answer {
    const { message, text, sampled, finishReason } = answer
    const tokenIds = this.#record.readAnswer(prompt, sampled, { wasCut: finishReason === "length" })
    const facts = { call: call.index, logprobs: undefined, versions: [], sampledWith, finishReason, exact: false }
    const kept: ChatMessage | undefined = prompt.chat === undefined ? undefined : message
    const node = this.#record.add(prompt, { ids: tokenIds, message: kept, facts })
    const met = choiceMet(prompt, call, message)
    return { index: node.index, text, message, finishReason, tokenIds, logprobs: [], ...met }
  }
}

const plainParser = createAnswerParser()

/** Tools whose calls are read; where calls are to stay text there are none. */
function readTools({ toolChoice, tools }: Call): readonly ChatTool[] | null {
  return toolChoice === "none" ? null : tools
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
  const hasTemplate = tokenizer.chatTemplate !== undefined
  // Compiling one costs more than the rest of a session: a given one saves it.
  const template = options.template ?? (hasTemplate ? createChatTemplate(tokenizer, { plainContents }) : undefined)
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

function onlyOf<Choice>([answer]: readonly Choice[]): Choice {
  if (answer === undefined) throw new AtroposError("inference-answer", "the policy answered without a choice")
  return answer
}
