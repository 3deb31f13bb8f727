// Tokens and masks of finished conversations.
import { readFileSync } from "node:fs"

import { parseLosslessJson } from "../../packages/atropos/src/chat/lossless-json.ts"
import { tokenizeForTrainer, type TokenizedChat } from "../../packages/atropos/src/chat/tokenize-for-trainer.ts"
import { isAtroposError } from "../../packages/atropos/src/runtime/errors.ts"
import { judge } from "../runner/judge.ts"
import type { Suite } from "../runner/suite.ts"
import { Families, type FamiliesOptions, type Family } from "./families/families.ts"
import { differenceOfIds, readIds } from "./families/ids.ts"
import { toMessages } from "./families/wire-messages.ts"

interface Tokenized {
  tokens: number[] | string
  masks: number[] | string
}

interface Case {
  id: string
  family: string
  options: { train_on_all_assistant_turns?: boolean; include_messages?: boolean; finish_reason?: string }
  reference: Tokenized & { messages?: boolean }
  right?: Tokenized
  refused?: boolean
}

export function createSuite(options: FamiliesOptions = {}): Suite {
  return {
    name: "trainer",
    vectors: "trainer",
    accepts: (file) => file.endsWith(".jsonl"),
    async run(files, report, { root }) {
      const families = new Families(root, options)
      for (const file of files)
        for (const line of readFileSync(file, "utf8").split("\n")) {
          if (line.trim() === "") continue
          const one = JSON.parse(line) as Case
          const family = families.find(one.family, file)
          if ("missing" in family) report(one.id, { verdict: "skipped", reason: family.missing })
          else await judge(report, one.id, () => tokenize(one, line, family))
        }
    },
  }
}

export const suite: Suite = createSuite()

/** Tokenizes a conversation; the first difference, if there is one. */
function tokenize(one: Case, line: string, family: Family): string | undefined {
  const lossless = parseLosslessJson(line)
  const messages = toMessages(lossless instanceof Map ? lossless.get("messages") : undefined)
  try {
    const got = tokenizeForTrainer(family.tokenizer, messages, {
      template: family.template,
      trainOnAllAssistantTurns: one.options.train_on_all_assistant_turns ?? false,
      includeMessages: one.options.include_messages ?? false,
      finishReason: one.options.finish_reason ?? "",
    })
    if (one.refused === true) return "tokenized, expected a refusal"
    const keeps = one.reference.messages !== true || got.messages === messages
    return compare(one, got) ?? (keeps ? undefined : "the messages did not come back as they were")
  } catch (error) {
    if (isAtroposError(error) && one.refused === true) return undefined
    throw error
  }
}

function compare(one: Case, got: TokenizedChat): string | undefined {
  const expected = one.right ?? one.reference
  return (
    differenceOfIds("the tokens", got.tokens, readIds(expected.tokens)) ??
    differenceOfIds("the masks", got.masks, readIds(expected.masks))
  )
}
