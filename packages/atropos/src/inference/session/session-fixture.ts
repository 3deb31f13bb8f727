// A session over a script, for tests: what was asked, what came of each call, and samples as a test wants them.
import type { PromptOutcome } from "../../chat/bridge/conversation-record.ts"
import type { CompletionDelta, FinishReason, InferenceMessage, TokenCompletion } from "../inference-server.ts"
import { openSession, type SessionOptions } from "./recorded-session.ts"
import type { Session } from "./session.ts"

export interface ScriptedSample {
  ids: readonly number[]
  finishReason?: FinishReason
  message?: InferenceMessage
  logprobs?: readonly number[]
  text?: string
  versions?: TokenCompletion["versions"]
}

export interface ScriptedSession {
  session: Session
  /** Prompts in the order in which they were asked. */
  asked: (readonly number[])[]
  /** What became of each call, with the text of its prompt. */
  outcomes: (PromptOutcome<unknown> & { text: string })[]
}

/** Opens a session whose calls `answer` gives the samples for. */
export function openScriptedSession(
  options: Omit<SessionOptions, "server" | "maxTokens" | "onPrompt"> & {
    maxTokens?: number
    /** How a streamed sample comes. @default token by token */
    pieces?: (sample: ScriptedSample) => readonly Omit<CompletionDelta, "choice">[]
  },
  answer: (prompt: readonly number[], call: number) => readonly ScriptedSample[] | Promise<readonly ScriptedSample[]>,
): ScriptedSession {
  const asked: (readonly number[])[] = []
  const outcomes: ScriptedSession["outcomes"] = []
  const messages = new Map<string, InferenceMessage>()
  const session = openSession({
    maxTokens: 1 << 20,
    parser: ({ text, tokenIds, finishReason }) => ({
      message: messages.get(tokenIds.join()) ?? { role: "assistant", content: text },
      finishReason,
    }),
    ...options,
    server: {
      name: "script",
      completeTokens: async (given, _sampling, { onDelta, signal } = {}) => {
        const prompt = Array.from(given)
        asked.push(prompt)
        const samples = await answer(prompt, asked.length - 1)
        for (const [choice, sample] of samples.entries())
          for (const piece of onDelta === undefined ? [] : (options.pieces ?? tokenByToken)(sample)) {
            signal?.throwIfAborted()
            onDelta?.({ choice, ...piece })
            await Promise.resolve()
          }
        for (const { ids, message } of samples) if (message !== undefined) messages.set(ids.join(), message)
        return {
          choices: samples.map(({ ids, finishReason = "stop", logprobs, text = "", versions = [] }) => ({
            tokenIds: [...ids],
            logprobs: logprobs === undefined ? ids.map(() => -0.5) : [...logprobs],
            text,
            finishReason,
            versions,
          })),
          logprobsMode: "raw",
          departures: [],
          usage: { promptTokens: prompt.length, completionTokens: 0 },
        }
      },
    },
    onPrompt: (prompt) => outcomes.push(prompt),
  })
  return { session, asked, outcomes }
}

function tokenByToken({ ids }: ScriptedSample): Omit<CompletionDelta, "choice">[] {
  return ids.map((id) => ({ tokenIds: [id] }))
}
