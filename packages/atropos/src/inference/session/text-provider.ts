// Providers that tell no token ids: their answers are texts, which the session's tokenizer reads.
import type { PreparedPrompt } from "../../chat/bridge/conversation-record.ts"
import type { ChatMessage, ChatTool } from "../../chat/messages.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type {
  ChatCompletion,
  FinishReason,
  InferenceServer,
  RequestOptions,
  SamplingOptions,
  Usage,
} from "../inference-server.ts"
import { askedFor, sampledWith } from "./policy-call.ts"
import type { SampledWith, ToolChoice } from "./session.ts"

export type TextProvider = Pick<InferenceServer, "chat" | "complete" | "name">

export interface TextAnswer {
  message: ChatMessage
  text: string
  /** The answer as the template writes it, with its end of turn. */
  sampled: string
  finishReason: FinishReason
}

export interface TextRequest<Facts> {
  prompt: PreparedPrompt<Facts>
  tools: readonly ChatTool[] | null
  toolChoice: ToolChoice
  sampling: SamplingOptions
  request: RequestOptions
  /** What the chat template writes for an answer; undefined where that cannot be told. */
  written: (message: ChatMessage) => string | undefined
}

export async function callTextProvider<Facts>(
  provider: Partial<TextProvider> & { name: string },
  { prompt, tools, toolChoice, sampling, request, written }: TextRequest<Facts>,
): Promise<{ answers: TextAnswer[]; sampledWith: SampledWith; usage: Usage }> {
  const { chat } = prompt
  if (provider.chat === undefined || provider.complete === undefined)
    throw new AtroposError("inference-unsupported", `${provider.name} has no route for texts; sample with exact: true`)
  const { choices, usage } =
    chat === undefined
      ? await provider.complete(prompt.text, sampling, request)
      : await provider.chat(
          {
            messages: chat.entries.map(({ message, own }) => own?.message ?? message),
            sampling,
            ...(tools === null ? {} : { tools, ...(toolChoice === "auto" ? {} : { toolChoice }) }),
          },
          request,
        )
  const answers = askedFor(provider.name, choices, sampling).map((choice): TextAnswer => {
    const message = messageOf(choice)
    const sampled = chat === undefined ? choice.text : (written(message) ?? choice.text)
    return { message, text: choice.text, sampled, finishReason: choice.finishReason }
  })
  return { answers, sampledWith: sampledWith(sampling), usage }
}

function messageOf({ text, reasoning, toolCalls }: ChatCompletion): ChatMessage {
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({
    id,
    type: "function",
    function: { name, arguments: args },
  }))
  return {
    role: "assistant",
    content: text,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}
