import { AtroposError, isAtroposError } from "../runtime/errors.ts"
import { tryParseLosslessJson } from "./lossless-json.ts"
import { thoughtKeys, type ChatContentPart, type ChatMessage, type ChatTool, type ChatToolCall } from "./messages.ts"
import type { RenderLimits } from "./template/values/budget.ts"
import type { KeptMessages } from "./kept-messages.ts"
import { checkMarks, ControlTokenMarks, withoutMarks } from "./plain-contents.ts"
import type { TemplateInput } from "./template/values/convert.ts"
import { stripEnd, stripStart } from "./template/values/text.ts"
import { compileTemplate, type RenderOptions, type Template } from "./template/template.ts"
import type { Tokenizer } from "./tokenizer.ts"

/** In which form a template takes the arguments of tool calls. */
export type ArgumentsForm = "object" | "text"

export interface ChatTemplateOptions {
  /** Source to use in place of the tokenizer's own template. */
  template?: string
  /** @default objects, and text where the template refuses those */
  arguments?: ArgumentsForm
  /**
   * Text in contents that spells a control token stays text: its spelling is marked in the rendered text, which
   * sessions and `tokenizeForTrainer` encode accordingly. Messages of the assistant keep their tokens. @default false
   */
  plainContents?: boolean
  limits?: Partial<RenderLimits>
}

export interface RenderRequest {
  messages: readonly ChatMessage[]
  /** Null and absent are the same. */
  tools?: readonly ChatTool[] | null
  /** Ends with the opening of the assistant's turn. @default true, unless the final message is to be continued */
  addGenerationPrompt?: boolean
  /** Ends where the last message's content ends, so that the model goes on with it. @default false */
  continueFinalMessage?: boolean
  /** Further variables that the template reads, such as `enable_thinking`. */
  variables?: Readonly<Record<string, TemplateInput>>
  /** What the template's clock shows. @default the present */
  now?: () => Date
}

/** Turns conversations into the text that the model was trained on. */
export interface ChatTemplate {
  readonly source: string
  /** The source used when tools are given, where that is another one. */
  readonly toolSource?: string
  /** Whether control tokens in contents are marked in what it renders. @default false */
  readonly plainContents?: boolean
  render(request: RenderRequest): string
  /**
   * The text of `render` in the pieces in which the template writes it, so that renderings of a growing conversation
   * can be compared without putting them together. Messages in `kept` are taken to be as they were when they were
   * first rendered with it.
   */
  renderPieces?(request: Omit<RenderRequest, "continueFinalMessage">, kept: KeptMessages): readonly string[]
}

/** The chat template of a tokenizer's model, or another one over its special tokens. */
export function createChatTemplate(tokenizer: Tokenizer, options: ChatTemplateOptions = {}): ChatTemplate {
  const source = options.template ?? tokenizer.chatTemplate
  if (source === undefined)
    throw new AtroposError(
      "bad-template",
      `${tokenizer.name} has no chat template; pass one (its model's card or a sibling model has it)`,
    )
  const main = compileTemplate(source)
  const toolSource = options.template === undefined ? tokenizer.toolChatTemplate : undefined
  const forTools = toolSource === undefined ? main : compileTemplate(toolSource)
  const plainContents = options.plainContents ?? false
  const marks = plainContents ? new ControlTokenMarks(tokenizer, source + (toolSource ?? "")) : undefined
  const from: RenderSource = { tokenizer, options, marks }
  const templateFor = ({ tools }: RenderRequest): Template => (tools === null || tools === undefined ? main : forTools)
  return {
    source,
    plainContents,
    ...(toolSource === undefined ? {} : { toolSource }),
    render(request) {
      const template = templateFor(request)
      const text = renderRequest((...given) => template.render(...given), from, request, undefined)
      if (plainContents) checkMarks(text)
      return request.continueFinalMessage === true ? cutAtMark(text, request.messages) : text
    },
    renderPieces(request, kept) {
      const template = templateFor(request)
      const pieces = renderRequest((...given) => template.renderPieces(...given), from, request, kept)
      if (plainContents) for (const piece of pieces) checkMarks(piece)
      return pieces
    },
  }
}

// Appended to what is to be continued; the blank shows whether the template trims. It is transformers' own mark, since
// some templates look for it.
const continueMark = "CONTINUE_FINAL_MESSAGE_TAG "

interface RenderSource {
  tokenizer: Tokenizer
  options: ChatTemplateOptions
  marks: ControlTokenMarks | undefined
}

function renderRequest<Rendered>(
  render: (variables: Readonly<Record<string, TemplateInput>>, options: RenderOptions) => Rendered,
  { tokenizer, options, marks }: RenderSource,
  request: RenderRequest,
  kept: KeptMessages | undefined,
): Rendered {
  const { messages, tools = null, continueFinalMessage = false, variables = {}, now } = request
  const addGenerationPrompt = request.addGenerationPrompt ?? !continueFinalMessage
  if (continueFinalMessage && addGenerationPrompt)
    throw new AtroposError(
      "bad-option",
      "continueFinalMessage and addGenerationPrompt exclude each other: a final message that goes on needs no new turn",
    )
  const shown = continueFinalMessage ? markFinal(messages) : messages
  const guarded = (value: TemplateInput): TemplateInput => (marks === undefined ? value : marks.mark(value))
  const attempt = (form: ArgumentsForm, keepNulls: boolean): Rendered => {
    const keptAs = `${form} ${keepNulls}`
    return render(
      {
        ...tokenizer.specialTokens,
        ...variables,
        documents: guarded(variables["documents"] ?? null),
        messages: shown.map((message) => {
          const make = (): TemplateInput => {
            const value = templateMessage(message, form, keepNulls)
            return message.role === "assistant" ? value : guarded(value)
          }
          return kept === undefined ? make() : kept.value(message, keptAs, make)
        }),
        // Any object is taken; what is no JSON in it is refused on conversion.
        tools: guarded(tools as TemplateInput),
        add_generation_prompt: addGenerationPrompt,
      },
      {
        ...(now === undefined ? {} : { now }),
        ...(options.limits === undefined ? {} : { limits: options.limits }),
      },
    )
  }
  return firstAccepted(attempt, options.arguments, messages)
}

/** Some templates need text arguments, some need nulls to be there; the first form that renders is the one. */
function firstAccepted<Rendered>(
  attempt: (form: ArgumentsForm, keepNulls: boolean) => Rendered,
  fixed: ArgumentsForm | undefined,
  messages: readonly ChatMessage[],
): Rendered {
  const hasCalls = messages.some((message) => (message.tool_calls ?? []).length > 0)
  const forms: ArgumentsForm[] = fixed === undefined ? (hasCalls ? ["object", "text"] : ["object"]) : [fixed]
  const hasNulls = messages.some((message) => Object.values(message).includes(null))
  let refusal: unknown
  for (const keepNulls of hasNulls ? [false, true] : [false])
    for (const form of forms)
      try {
        return attempt(form, keepNulls)
      } catch (error) {
        if (!isAtroposError(error, "template-refused")) throw error
        refusal ??= error
      }
  throw refusal
}

function markFinal(messages: readonly ChatMessage[]): ChatMessage[] {
  const last = messages.at(-1)
  if (last === undefined) throw nothingToContinue()
  return [...messages.slice(0, -1), { ...last, content: markContent(last.content) }]
}

function markContent(content: ChatMessage["content"]): string | readonly ChatContentPart[] {
  if (typeof content === "string") return content + continueMark
  const index = lastTextPart(content)
  const part = content?.[index]
  if (content === null || content === undefined || part === undefined) throw nothingToContinue()
  return content.with(index, { ...part, text: `${part.text ?? ""}${continueMark}` })
}

function lastTextPart(content: Exclude<ChatMessage["content"], string>): number {
  return Array.isArray(content) ? content.findLastIndex((part) => typeof part.text === "string") : -1
}

function cutAtMark(text: string, messages: readonly ChatMessage[]): string {
  const content = messages.at(-1)?.content
  const final = typeof content === "string" ? content : (content?.[lastTextPart(content)]?.text ?? "")
  const mark = continueMark.trimEnd()
  const at = text.lastIndexOf(mark)
  // A part of the final message that is not there as it was given cannot be gone on with.
  if (at < 0 || !withoutMarks(text).includes(stripStart(stripEnd(final)))) throw nothingToContinue()
  const kept = text.slice(0, at)
  return text.startsWith(continueMark, at) ? kept : stripEnd(kept)
}

function nothingToContinue(): AtroposError {
  return new AtroposError(
    "template-refused",
    "continueFinalMessage needs a last message whose text the chat template writes; this template leaves it out",
  )
}

function templateMessage(message: ChatMessage, form: ArgumentsForm, keepNulls: boolean): TemplateInput {
  const shown: Record<string, TemplateInput> = {}
  for (const [key, value] of Object.entries(message))
    // The index signature is for fields that only templates know; what is no JSON is refused on conversion.
    if (value !== undefined && (keepNulls || value !== null)) shown[key] = value as TemplateInput
  const calls = message.tool_calls
  if (calls !== null && calls !== undefined) shown["tool_calls"] = calls.map((call) => templateCall(call, form))
  const thought = thoughtKeys.map((key) => shown[key]).find((value) => value !== undefined && value !== null)
  // Templates read the thought under one name or the other.
  return thought === undefined ? shown : { thinking: thought, ...shown, reasoning_content: thought }
}

function templateCall(call: ChatToolCall, form: ArgumentsForm): TemplateInput {
  const { arguments: given, ...rest } = call.function
  return { ...call, function: { ...rest, arguments: templateArguments(given, form) } }
}

function templateArguments(given: ChatToolCall["function"]["arguments"], form: ArgumentsForm): TemplateInput {
  if (form === "object") {
    const parsed = typeof given === "string" ? tryParseLosslessJson(given) : (given as TemplateInput)
    // Text that is no JSON has no other form.
    return parsed === undefined ? (given as TemplateInput) : parsed
  }
  return typeof given === "string" ? given : writeJson(given as TemplateInput)
}

/** JSON text of values that were given in place of it, spelled as Python would. */
function writeJson(value: TemplateInput): string {
  return compileTemplate("{{ value | tojson }}").render({ value })
}
