// One call's way from the node it continues to its prompt: what the template adds after the sampled end, or a branch.
import { isAtroposError } from "../../runtime/errors.ts"
import type { ChatTemplate } from "../chat-template.ts"
import type { ChatMessage, ChatTool } from "../messages.ts"
import type { TemplateInput } from "../template/values/convert.ts"
import type { KeptMessages } from "../kept-messages.ts"
import { answerForms, holdsAllParts, mayHoldMark, tailAfterMark, type AnswerForm } from "./answer-forms.ts"
import { lastId, pathTo, type ConversationNode } from "./conversation-node.ts"
import { sharedPieces, textFrom } from "./pieces.ts"
import { writtenAlike } from "./same-json.ts"
import { thoughtPieces } from "./thoughts.ts"
import type { TurnTokens } from "./turn-tokens.ts"
import { equalButForSpace, withoutSpace } from "./whitespace.ts"

/**
 * How the rendered text of an extension agrees with what was sampled: wholly, but for white space, in other words
 * that hold the same parts, or not at all, where the session keeps its history all the same.
 */
export type Fidelity = "exact" | "whitespace" | "respelled" | "kept"

/** Who ended the turn: the sample, the template, another closing token of the model's, or nobody. */
export type TurnClose = "sampled" | "template" | "foreign" | "none"

/** Why a call began a new branch. */
export type BranchReason =
  | "message-edited"
  | "new-conversation"
  | "tools-changed"
  | "options-changed"
  | "thinking-dropped"
  | "generation-prompt-not-kept"
  | "template-rewrites-history"

/** Whether a session follows its template into a branch when that drops thoughts, or goes on with what was sampled. */
export type HistoryPolicy = "template" | "keep"

export interface BridgeRequest {
  messages: readonly ChatMessage[]
  tools: readonly ChatTool[] | null
  variables: Readonly<Record<string, TemplateInput>>
}

export interface BridgeContext {
  template: ChatTemplate
  tokens: TurnTokens
  history: HistoryPolicy
  /** The session's standing clock. */
  now: () => Date
  /** What the session renders at every turn. */
  kept: KeptMessages
}

export type Bridge =
  | {
      kind: "extend"
      /** Text that follows the sampled ids, and its ids. */
      added: { text: string; ids: number[] }
      fidelity: Fidelity
      close: TurnClose
      pieces: readonly string[]
      given: readonly ChatMessage[]
    }
  | { kind: "branch"; reason: BranchReason; pieces: readonly string[]; given: readonly ChatMessage[] }

/** What one form of the answer came to. */
interface Attempt {
  form: AnswerForm
  pieces: readonly string[]
  given: readonly ChatMessage[]
  /** What the template adds after the answer, where that is clear. */
  tail?: string
  fidelity?: Exclude<Fidelity, "kept">
}

export function bridge<Facts>(
  node: ConversationNode<Facts>,
  newMessages: readonly ChatMessage[],
  request: BridgeRequest,
  context: BridgeContext,
): Bridge {
  const prompt = node.chat
  if (prompt === undefined || node.message === undefined) throw new Error("a chat goes on from a chat's node only")
  const render = (messages: readonly ChatMessage[], addGenerationPrompt = true): readonly string[] =>
    renderPieces({ ...request, messages, addGenerationPrompt }, context)
  const forms = answerForms(node.answerText, node.message)
  const givenWith = (answer: ChatMessage): ChatMessage[] => [...prompt.given, answer, ...newMessages]
  // A branch is rendered anew, so all own messages are as they were handed out, with their thoughts.
  const branch = (reason: BranchReason): Bridge => {
    const earlier = prompt.entries.map(({ message, own }) => own?.message ?? message)
    const given = [...earlier, node.message ?? { role: "assistant" }, ...newMessages]
    return { kind: "branch", reason, pieces: render(given), given }
  }

  const changed = openingChange(node, request, context)
  if (changed !== undefined) return branch(changed)

  const attempts: Attempt[] = []
  let refusal: unknown
  for (const form of forms)
    try {
      const attempt = tryForm(node, form, { render, givenWith, tokens: context.tokens })
      attempts.push(attempt)
      if (attempt.fidelity === "exact" || attempt.fidelity === "whitespace") break
    } catch (error) {
      if (!isAtroposError(error, "template-refused")) throw error
      refusal = error
    }
  if (attempts.length === 0) throw refusal
  const best = attempts.find(({ fidelity }) => fidelity === "exact" || fidelity === "whitespace")
  const taken = best ?? attempts.find(({ fidelity }) => fidelity !== undefined)
  if (taken?.fidelity !== undefined) return extend(node, taken, taken.fidelity, context.tokens)

  const shown = attempts.findLast(({ tail }) => tail !== undefined)
  const reason = shown === undefined ? "template-rewrites-history" : whyRewritten(node, shown, render)
  if (context.history === "keep" && shown !== undefined && reason !== "template-rewrites-history")
    return extend(node, shown, "kept", context.tokens)
  return branch(reason)
}

/** A rendering in the session's way. */
export function renderPieces(
  request: BridgeRequest & { addGenerationPrompt?: boolean },
  { template, now, kept }: Pick<BridgeContext, "template" | "now" | "kept">,
): readonly string[] {
  return template.renderPieces?.({ ...request, now }, kept) ?? [template.render({ ...request, now })]
}

/** Whether the node's own prompt would be rendered otherwise today. */
function openingChange<Facts>(
  node: ConversationNode<Facts>,
  request: BridgeRequest,
  context: BridgeContext,
): BranchReason | undefined {
  const prompt = node.chat
  if (prompt === undefined) return undefined
  const sameTools = writtenAlike(prompt.tools, request.tools)
  const sameVariables = writtenAlike(prompt.variables, request.variables)
  if (sameTools && sameVariables) return undefined
  const rendersAlike = (tools: readonly ChatTool[] | null, variables: BridgeRequest["variables"]): boolean =>
    textFrom(renderPieces({ messages: prompt.given, tools, variables }, context)) === node.text
  if (rendersAlike(request.tools, request.variables)) return undefined
  return !sameTools && !rendersAlike(request.tools, prompt.variables) ? "tools-changed" : "options-changed"
}

interface FormTools {
  render: (messages: readonly ChatMessage[]) => readonly string[]
  givenWith: (answer: ChatMessage) => ChatMessage[]
  tokens: TurnTokens
}

function tryForm<Facts>(node: ConversationNode<Facts>, form: AnswerForm, tools: FormTools): Attempt {
  const given = tools.givenWith(form.message)
  const known = node.chat?.pieces ?? []
  const rendered = tools.render(given)
  const marked = tools.render(tools.givenWith(form.marked))
  const same = sharedPieces(known, rendered)
  // The node's own pieces stand for the equal new ones, so that a session holds each text once.
  const attempt: Attempt = { form, pieces: [...known.slice(0, same), ...rendered.slice(same)], given }
  const from = Math.min(same, sharedPieces(known, marked))
  const beginning = known.slice(0, from)
  // What all three texts begin with changes nothing but the time it takes to look at them, unless a mark may be in it.
  return (
    (beginning.some(mayHoldMark) ? undefined : compareFrom(from, node, attempt, marked, tools.tokens)) ??
    compareFrom(0, node, attempt, marked, tools.tokens) ??
    attempt
  )
}

/** Compares what follows the first pieces, which are the same in all; undefined where that does not hold the tail. */
function compareFrom<Facts>(
  from: number,
  node: ConversationNode<Facts>,
  attempt: Attempt,
  marked: readonly string[],
  tokens: TurnTokens,
): Attempt | undefined {
  const text = textFrom(attempt.pieces, from)
  const tail = tailAfterMark(textFrom(marked, from), attempt.form, tokens)
  if (tail === undefined || !text.endsWith(tail)) return undefined
  const head = text.slice(0, text.length - tail.length)
  const inner = innerMarkers(node.answerText, tail, tokens)
  const prompt = textFrom(node.chat?.pieces ?? [], from)
  const fidelity = compare({ prompt, answerText: node.answerText }, head + inner, attempt.form)
  return { ...attempt, tail, ...(fidelity === undefined ? {} : { fidelity }) }
}

function compare(
  known: { prompt: string; answerText: string },
  rendered: string,
  form: AnswerForm,
): Exclude<Fidelity, "kept"> | undefined {
  const { prompt, answerText } = known
  // Equality of slices compares memory; startsWith goes character by character.
  if (rendered.slice(0, prompt.length) === prompt) {
    const answer = rendered.slice(prompt.length)
    if (answer === answerText) return "exact"
    if (equalButForSpace(answer, answerText)) return "whitespace"
    return form.kind === "structured" && holdsAllParts(answer, form.message) ? "respelled" : undefined
  }
  const dense = withoutSpace(rendered)
  const densePrompt = withoutSpace(prompt)
  if (dense === densePrompt + withoutSpace(answerText)) return "whitespace"
  if (form.kind === "raw" || !dense.startsWith(densePrompt)) return undefined
  return holdsAllParts(dense.slice(densePrompt.length), form.message) ? "respelled" : undefined
}

/** Markers before the closing token that the sample ends with already. */
function innerMarkers(answerText: string, tail: string, tokens: TurnTokens): string {
  const markers = tokens.lead(tail)?.markers ?? []
  for (let count = markers.length; count > 0; count -= 1) {
    const inner = markers.slice(0, count).join("")
    if (answerText.endsWith(inner)) return inner
  }
  return ""
}

function extend<Facts>(
  node: ConversationNode<Facts>,
  attempt: Attempt,
  fidelity: Fidelity,
  tokens: TurnTokens,
): Bridge {
  const tail = attempt.tail ?? ""
  const { rest, close } = closeTurn(node, tail, tokens)
  return {
    kind: "extend",
    added: { text: rest, ids: tokens.encodeAfter(lastId(node), rest) },
    fidelity,
    close,
    pieces: attempt.pieces,
    given: attempt.given,
  }
}

/** What of the tail is still to be added after the sample's own end. */
function closeTurn<Facts>(
  node: ConversationNode<Facts>,
  tail: string,
  tokens: TurnTokens,
): { rest: string; close: TurnClose } {
  const lead = tokens.lead(tail)
  const last = node.ids.at(-1)
  if (tokens.endsTurn(last))
    return {
      rest: tail.slice(lead?.length ?? 0),
      close: lead === undefined ? "none" : lead.closingId === last ? "sampled" : "foreign",
    }
  if (last !== undefined && tokens.endsSample(last)) {
    const role = tokens.tokenizer.idToToken(last) ?? ""
    if (role !== "" && tail.startsWith(role)) return { rest: tail.slice(role.length), close: "sampled" }
  }
  const inner = innerMarkers(node.answerText, tail, tokens)
  return { rest: tail.slice(inner.length), close: lead === undefined ? "none" : "template" }
}

/** What the template did to the history, as far as that can be told from what is missing. */
function whyRewritten<Facts>(
  node: ConversationNode<Facts>,
  { pieces, tail = "" }: Attempt,
  render: (messages: readonly ChatMessage[], addGenerationPrompt: boolean) => readonly string[],
): BranchReason {
  const text = textFrom(pieces)
  const dense = withoutSpace(text.slice(0, text.length - tail.length))
  for (const answer of pathTo(node))
    for (const thought of thoughtPieces(answer.answerText, answer.message))
      if (!dense.includes(withoutSpace(thought))) return "thinking-dropped"
  const closed = withoutSpace(textFrom(render(node.chat?.given ?? [], false)))
  const opened = withoutSpace(node.text)
  return opened.startsWith(closed) && dense.startsWith(closed) && !dense.startsWith(opened)
    ? "generation-prompt-not-kept"
    : "template-rewrites-history"
}
