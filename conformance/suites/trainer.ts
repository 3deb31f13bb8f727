// Tokens and masks of finished conversations.
import { readFileSync } from "node:fs"

import { parseLosslessJson } from "../../packages/atropos/src/chat/lossless-json.ts"
import { tokenizeForTrainer, type TokenizedChat } from "../../packages/atropos/src/chat/tokenize-for-trainer.ts"
import { isAtroposError } from "../../packages/atropos/src/runtime/errors.ts"
import type { Suite } from "../runner/suite.ts"
import { Families, type FamiliesOptions } from "./families/families.ts"
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
    run(files, report, { root }) {
      const families = new Families(root, options)
      for (const file of files)
        for (const line of readFileSync(file, "utf8").split("\n")) {
          if (line.trim() === "") continue
          const one = JSON.parse(line) as Case
          const family = families.find(one.family)
          if ("missing" in family) {
            report(one.id, { verdict: "skipped", reason: family.missing })
            continue
          }
          const lossless = parseLosslessJson(line)
          const messages = toMessages(lossless instanceof Map ? lossless.get("messages") : undefined)
          let difference: string | undefined
          try {
            const got = tokenizeForTrainer(family.tokenizer, messages, {
              template: family.template,
              trainOnAllAssistantTurns: one.options.train_on_all_assistant_turns ?? false,
              includeMessages: one.options.include_messages ?? false,
              finishReason: one.options.finish_reason ?? "",
            })
            difference = one.refused === true ? "tokenized, expected a refusal" : compare(one, got)
            if (difference === undefined && one.reference.messages === true && got.messages !== messages)
              difference = "the messages did not come back as they were"
          } catch (error) {
            if (!isAtroposError(error)) throw error
            if (one.refused !== true) difference = `refused: ${error.message}`
          }
          report(one.id, difference === undefined ? { verdict: "passed" } : { verdict: "failed", difference })
        }
      return Promise.resolve()
    },
  }
}

export const suite: Suite = createSuite()

function compare(one: Case, got: TokenizedChat): string | undefined {
  const expected = one.right ?? one.reference
  return (
    differenceOfIds("the tokens", got.tokens, readIds(expected.tokens)) ??
    differenceOfIds("the masks", got.masks, readIds(expected.masks))
  )
}
