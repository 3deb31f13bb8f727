// Chat templates: whole families with ids, single constructs, and any folder of templates with cases.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { JsonFloat, parseLosslessJson, type LosslessJson } from "../../packages/atropos/src/chat/lossless-json.ts"
import { compileTemplate, type Template } from "../../packages/atropos/src/chat/template/template.ts"
import { isAtroposError } from "../../packages/atropos/src/runtime/errors.ts"
import type { Report, Suite, Verdict } from "../runner/suite.ts"
import { Families, type FamiliesOptions } from "./families/families.ts"
import { differenceOfIds, differenceOfTexts, readIds } from "./families/ids.ts"
import { toMessages, toTools } from "./families/wire-messages.ts"

export function createSuite(options: FamiliesOptions = {}): Suite {
  return {
    name: "templates",
    vectors: "templates",
    accepts: (file) => file.endsWith(".jsonl"),
    run(files, report, { root }) {
      const families = new Families(root, options)
      for (const file of files) {
        if (basename(file) === "snippets.jsonl") runSnippets(file, report)
        else if (basename(file) === "cases.jsonl") runEngine(file, report)
        else runFamily(file, families, report)
      }
      return Promise.resolve()
    },
  }
}

export const suite: Suite = createSuite()

type Fields = ReadonlyMap<string, LosslessJson>

function readLines(file: string): Fields[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const value = parseLosslessJson(line)
      if (!(value instanceof Map)) throw new Error(`${file}: a line is no object`)
      return value
    })
}

function text(fields: Fields, key: string): string | undefined {
  const value = fields.get(key)
  return typeof value === "string" ? value : undefined
}

/** What rendering gave, or that the template refused. */
function attempt(render: () => string): { text: string } | { refusal: string } {
  try {
    return { text: render() }
  } catch (error) {
    if (isAtroposError(error, "template-refused") || isAtroposError(error, "bad-template"))
      return { refusal: error.message }
    throw error
  }
}

function judge(outcome: { text: string } | { refusal: string }, expected: Fields): string | undefined {
  const refused = expected.get("refused") === true
  if ("refusal" in outcome) return refused ? undefined : `refused: ${outcome.refusal}`
  if (refused) return `rendered ${JSON.stringify(outcome.text.slice(0, 80))}, expected a refusal`
  const sha256 = text(expected, "textSha256")
  if (sha256 === undefined) return differenceOfTexts("the text", outcome.text, text(expected, "text") ?? "")
  return createHash("sha256").update(outcome.text).digest("hex") === sha256 ? undefined : "the text's hash differs"
}

function verdict(difference: string | undefined): Verdict {
  return difference === undefined ? { verdict: "passed" } : { verdict: "failed", difference }
}

function runSnippets(file: string, report: Report): void {
  const [first, ...cases] = readLines(file)
  const context = first?.get("context")
  const variables = context instanceof Map ? Object.fromEntries(context) : {}
  for (const one of cases) {
    const outcome = attempt(() => compileTemplate(text(one, "template") ?? "").render(variables))
    report(text(one, "id") ?? "?", verdict(judge(outcome, one)))
  }
}

function runEngine(file: string, report: Report): void {
  const sources = JSON.parse(readFileSync(join(dirname(file), "templates.json"), "utf8")) as Record<string, string>
  const compiled = new Map<string, Template>()
  const now = (): Date => new Date(2026, 1, 28, 12, 0)
  for (const one of readLines(file)) {
    const name = text(one, "template") ?? ""
    const outcome = attempt(() => {
      const template = compiled.get(name) ?? compileTemplate(sources[name] ?? "")
      compiled.set(name, template)
      return template.render(
        {
          messages: one.get("messages"),
          tools: one.get("tools") ?? null,
          documents: null,
          add_generation_prompt: true,
          bos_token: "<BOS>",
          eos_token: "<EOS>",
        },
        { now },
      )
    })
    report(`engine/${name}/${text(one, "conversation") ?? "?"}`, verdict(judge(outcome, one)))
  }
}

function runFamily(file: string, families: Families, report: Report): void {
  for (const one of readLines(file)) {
    const id = text(one, "id") ?? "?"
    const family = families.find(text(one, "family") ?? "", file)
    if ("missing" in family) {
      report(id, { verdict: "skipped", reason: family.missing })
      continue
    }
    const keepNulls = asList(one.get("tags")).includes("null-content")
    const { variables, now, flags } = readOptions(one.get("options"))
    const tools = one.get("tools")
    const outcome = attempt(() =>
      family.template.render({
        messages: toMessages(one.get("messages"), { keepNulls }),
        tools: toTools(tools),
        addGenerationPrompt: flags.get("add_generation_prompt") === true,
        continueFinalMessage: flags.get("continue_final_message") === true,
        variables,
        ...(now === undefined ? {} : { now: () => now }),
      }),
    )
    let difference = judge(outcome, one)
    const ids = one.get("ids")
    if (difference === undefined && "text" in outcome && ids !== undefined)
      difference = differenceOfIds("the ids", family.tokenizer.encode(outcome.text), readIds(toIds(ids)))
    report(id, verdict(difference))
  }
}

function asList(value: LosslessJson | undefined): LosslessJson[] {
  return Array.isArray(value) ? value : []
}

function toIds(value: LosslessJson): number[] | string {
  if (typeof value === "string") return value
  return asList(value).map((id) => (id instanceof JsonFloat ? id.value : Number(id)))
}

export function readOptions(options: LosslessJson | undefined): {
  flags: ReadonlyMap<string, LosslessJson>
  variables: Record<string, LosslessJson>
  now: Date | undefined
} {
  const fields: Fields = options instanceof Map ? options : new Map<string, LosslessJson>()
  const variables: Record<string, LosslessJson> = {}
  for (const [key, value] of fields)
    if (key !== "add_generation_prompt" && key !== "continue_final_message" && key !== "strftime_now")
      variables[key] = value
  const clock = text(fields, "strftime_now")
  return {
    flags: fields,
    variables,
    now: clock === undefined ? undefined : new Date(`${clock.slice(0, 10)}T${clock.slice(11) || "12:00"}`),
  }
}
