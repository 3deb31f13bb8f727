import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, expect, test } from "vitest"

import type { ChatRequest, CompletionDelta } from "../inference-server.ts"
import { OpenAiCompatibleServer } from "./openai-compatible.ts"

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const resource of opened.splice(0).toReversed()) await resource.close()
})

/** A provider that always says the same: a body, or events. */
async function start(
  api: "responses" | "messages",
  answer: unknown,
): Promise<{ server: OpenAiCompatibleServer; asked: { path: string; body: Record<string, unknown> }[] }> {
  const asked: { path: string; body: Record<string, unknown> }[] = []
  const provider = createServer((request, response) => {
    let text = ""
    request.on("data", (piece: Buffer) => (text += piece.toString()))
    request.on("end", () => {
      asked.push({ path: request.url ?? "", body: JSON.parse(text) as Record<string, unknown> })
      if (!Array.isArray(answer)) return response.end(JSON.stringify(answer))
      response.writeHead(200, { "content-type": "text/event-stream" })
      return response.end(answer.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join(""))
    })
  })
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve))
  const { port } = provider.address() as AddressInfo
  const server = new OpenAiCompatibleServer({ baseUrl: `http://127.0.0.1:${port}/v1`, model: "m", api })
  opened.push({ close: () => new Promise((resolve) => provider.close(resolve)) }, server)
  return { server, asked }
}

const conversation: ChatRequest = {
  messages: [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [
        { type: "text", text: "Look" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
      ],
    },
    {
      role: "assistant",
      content: "Wait.",
      tool_calls: [{ id: "c1", type: "function", function: { name: "search", arguments: '{"q":1}' } }],
    },
    { role: "tool", tool_call_id: "c1", content: "nothing" },
  ],
  tools: [{ type: "function", function: { name: "search", description: "d", parameters: { type: "object" } } }],
  sampling: { maxTokens: 9 },
}

test("a conversation goes by /responses as items, and its calls come back", async () => {
  const output = [
    { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
    { type: "message", content: [{ type: "output_text", text: "Hi" }] },
    { type: "function_call", call_id: "c2", name: "search", arguments: "{}" },
  ]
  const { server, asked } = await start("responses", {
    output,
    error: null,
    usage: { input_tokens: 3, output_tokens: 2 },
  })
  const { choices, usage } = await server.chat(conversation)
  expect(choices).toEqual([
    {
      text: "Hi",
      reasoning: "hm",
      toolCalls: [{ id: "c2", name: "search", arguments: "{}" }],
      finishReason: "tool_calls",
      versions: [],
    },
  ])
  expect(usage).toMatchObject({ promptTokens: 3, completionTokens: 2 })
  expect(asked[0]).toMatchObject({
    path: "/v1/responses",
    body: {
      max_output_tokens: 9,
      tools: [{ type: "function", name: "search", description: "d", parameters: { type: "object" } }],
      input: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "input_text", text: "Look" },
            { type: "input_image", image_url: "data:image/png;base64,AA==" },
          ],
        },
        { role: "assistant", content: "Wait." },
        { type: "function_call", call_id: "c1", name: "search", arguments: '{"q":1}' },
        { type: "function_call_output", call_id: "c1", output: "nothing" },
      ],
    },
  })
})

test("a stream of /responses that fails or stops in the middle is an error", async () => {
  const piece = { type: "response.output_text.delta", delta: "Hi" }
  const request = { messages: [{ role: "user", content: "Hi" }] }
  const onDelta = (): void => undefined
  const cut = await start("responses", [piece])
  await expect(cut.server.chat(request, { onDelta })).rejects.toMatchObject({ code: "inference-network" })
  const failed = await start("responses", [
    piece,
    { type: "response.failed", response: { error: { code: "server_error", message: "broke" } } },
  ])
  await expect(failed.server.chat(request, { onDelta })).rejects.toThrow(/broke/)
})

test("a conversation goes by /messages as turns with parts", async () => {
  const content = [
    { type: "thinking", thinking: "hm" },
    { type: "text", text: "Hi" },
    { type: "tool_use", id: "t1", name: "search", input: { q: 2 } },
  ]
  const usage = { input_tokens: 4, output_tokens: 5, cache_read_input_tokens: 1 }
  const { server, asked } = await start("messages", { content, stop_reason: "tool_use", usage })
  const answer = await server.chat(conversation)
  expect(answer.choices[0]).toEqual({
    text: "Hi",
    reasoning: "hm",
    toolCalls: [{ id: "t1", name: "search", arguments: '{"q":2}' }],
    finishReason: "tool_calls",
    versions: [],
  })
  expect(answer.usage).toEqual({ promptTokens: 4, completionTokens: 5, cachedTokens: 1 })
  expect(asked[0]).toMatchObject({
    path: "/v1/messages",
    body: {
      system: "Be brief.",
      max_tokens: 9,
      tools: [{ name: "search", description: "d", input_schema: { type: "object" } }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Wait." },
            { type: "tool_use", id: "c1", name: "search", input: { q: 1 } },
          ],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "nothing" }] },
      ],
    },
  })
})

test("a tool choice goes in each API's own words", async () => {
  const named = { type: "function", function: { name: "search" } }
  for (const [api, answer, words] of [
    ["responses", { output: [] }, ["auto", "none", "required", { type: "function", name: "search" }]],
    [
      "messages",
      { content: [], stop_reason: "end_turn" },
      [{ type: "auto" }, { type: "none" }, { type: "any" }, { type: "tool", name: "search" }],
    ],
  ] as const) {
    const { server, asked } = await start(api, answer)
    for (const toolChoice of ["auto", "none", "required", named]) await server.chat({ ...conversation, toolChoice })
    expect(asked.map(({ body }) => body["tool_choice"])).toEqual(words)
  }
})

test("a stream of /messages comes to the same as the whole", async () => {
  const { server } = await start("messages", [
    { type: "message_start", message: { usage: { input_tokens: 4, output_tokens: 0 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "H" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "i" } },
    { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "t1", name: "search", input: {} } },
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"q"' } },
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: ":2}" } },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ])
  const pieces: CompletionDelta[] = []
  const request = { messages: [{ role: "user", content: "Hi" }] }
  const answer = await server.chat(request, { onDelta: (delta) => pieces.push(delta) })
  expect(answer.choices[0]).toMatchObject({
    text: "Hi",
    toolCalls: [{ id: "t1", name: "search", arguments: '{"q":2}' }],
    finishReason: "tool_calls",
  })
  expect(answer.usage).toMatchObject({ promptTokens: 4, completionTokens: 5 })
  expect(pieces).toEqual([
    { choice: 0, text: "H" },
    { choice: 0, text: "i" },
    { choice: 0, toolCalls: [{ index: 0, id: "t1", name: "search", arguments: '{"q"' }] },
    { choice: 0, toolCalls: [{ index: 0, arguments: ":2}" }] },
    { choice: 0, finishReason: "tool_calls" },
  ])
})
