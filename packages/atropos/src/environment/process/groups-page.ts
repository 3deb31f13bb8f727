import { createReadStream, createWriteStream } from "node:fs"
import { once } from "node:events"
import { createInterface } from "node:readline"

import type { ScoredGroup as WireGroup } from "../../protocol/messages.ts"

/** Writes a page of a groups file: static, with everything in it, one group after the other. */
export async function writeGroupsPage(options: { from: string; to: string; title: string }): Promise<void> {
  const page = createWriteStream(options.to)
  const write = async (text: string): Promise<void> => {
    if (!page.write(text)) await once(page, "drain")
  }
  await write(head(options.title))
  let number = 0
  for await (const line of createInterface({ input: createReadStream(options.from), crlfDelay: Infinity })) {
    if (line !== "") await write(renderGroup(JSON.parse(line) as WireGroup, number++))
  }
  await write("</main></body></html>\n")
  page.end()
  await once(page, "finish")
}

function renderGroup(group: WireGroup, number: number): string {
  const { scores, tokens } = group
  const best = scores.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY)
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length
  const rollouts = scores.map((score, index) => {
    const messages = group.messages?.[index]
    const trained = group.masks[index]?.filter((mask) => mask !== -100).length ?? 0
    const body =
      messages === undefined
        ? `<p class="note">no messages: run with --env.include_messages true to see the text</p>`
        : messages.map(renderMessage).join("")
    const tone = score === best && scores.some((other) => other !== best) ? " best" : ""
    return `<details${tone === "" ? "" : " open"} class="rollout${tone}"><summary><b>${score.toPrecision(4)}</b> rollout ${index} · ${tokens[index]?.length ?? 0} tokens, ${trained} trained on</summary>${body}</details>`
  })
  const overrides = [group.group_overrides, group.generation_params]
    .filter((value) => value !== undefined && value !== null)
    .map((value) => `<code>${escape(JSON.stringify(withoutVersions(value)))}</code>`)
    .join(" ")
  return `<section><h2>Group ${number} <small>${scores.length} rollouts, mean score ${mean.toPrecision(4)}</small></h2>${overrides}${rollouts.join("")}</section>\n`
}

// Spans of every sequence, which nobody reads here.
function withoutVersions(value: Record<string, unknown>): Record<string, unknown> {
  const { policy_versions: _, ...rest } = value
  return rest
}

function renderMessage({ role, content, ...rest }: Record<string, unknown>): string {
  const extra = Object.keys(rest).length === 0 ? "" : `<code>${escape(JSON.stringify(rest))}</code>`
  return `<div class="message"><span>${escape(String(role))}</span><pre>${renderContent(content)}</pre>${extra}</div>`
}

function renderContent(content: unknown): string {
  if (typeof content === "string") return escape(content)
  if (!Array.isArray(content)) return content === null || content === undefined ? "" : escape(JSON.stringify(content))
  return content.map((part: unknown) => renderPart(part)).join("\n")
}

function renderPart(part: unknown): string {
  if (typeof part !== "object" || part === null) return escape(String(part))
  if ("text" in part && typeof part.text === "string") return escape(part.text)
  const url = "image_url" in part ? imageUrl(part.image_url) : undefined
  // Only images that are in the page itself: it loads nothing from elsewhere.
  if (url?.startsWith("data:image/") === true) return `<img src="${escape(url)}" alt="">`
  return escape(JSON.stringify(part))
}

function imageUrl(value: unknown): string | undefined {
  if (typeof value === "string") return value
  if (typeof value !== "object" || value === null || !("url" in value)) return undefined
  return typeof value.url === "string" ? value.url : undefined
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")
}

function head(title: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>${escape(title)}</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; } small { font-weight: normal; opacity: .7; }
.rollout { border: 1px solid #8884; border-radius: 6px; margin: .4rem 0; padding: .3rem .7rem; }
.rollout.best { border-color: #2a8; } summary { cursor: pointer; }
.message { border-left: 3px solid #8886; margin: .6rem 0; padding-left: .7rem; } .message span { opacity: .7; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .1rem 0; } code { overflow-wrap: anywhere; opacity: .8; }
.note { opacity: .7; } img { max-width: 100%; }
</style></head><body><main><h1>${escape(title)}</h1>
`
}
