// What exact tokens cost: `node bench/sessions.ts`. A conversation of 64 turns and 100,000 tokens through a session whose
// server answers at once and whose client sends its whole history as JSON each time, as agents do; renders of the same
// conversation, beside Python's engine where python3 has jinja2. Turns are CPU of this process. With `--short` it
// takes seconds and fails on a gross loss.
import { spawnSync } from "node:child_process"

import { TurnTokens } from "../packages/atropos/src/chat/bridge/turn-tokens.ts"
import { createChatTemplate } from "../packages/atropos/src/chat/chat-template.ts"
import { loadTokenizer } from "../packages/atropos/src/chat/tokenizers/load-tokenizer.ts"
import type { InferenceMessage } from "../packages/atropos/src/inference/inference-server.ts"
import { toChatMessages } from "../packages/atropos/src/inference/session/chat-messages.ts"
import { requestBody } from "../packages/atropos/src/inference/transport/request-body.ts"
import { openSession } from "../packages/atropos/src/inference/session/recorded-session.ts"
import { median } from "./server/bytes/measure.ts"

const short = process.argv.includes("--short")
const turns = 64
const wantedTokens = 100_000
const rounds = short ? 3 : 21

const folder = new URL("../conformance/vectors/tokenizers/mini", import.meta.url).pathname
const tokenizer = await loadTokenizer(folder)
const template = createChatTemplate(tokenizer)
const turnTokens = new TurnTokens(tokenizer)
const end = tokenizer.eosTokenId ?? 0

// Half of a turn's tokens are the client's, half the policy's.
const sentence = "It is 42, and the next number is two words longer than the one before. "
const perHalf = Math.round(wantedTokens / turns / 2)
const text = sentence.repeat(Math.ceil(perHalf / tokenizer.encode(sentence).length))
/** A text that begins otherwise and goes on otherwise, so that no part of it was encoded before. */
const textOf = (name: string): string => text.replaceAll("42", name)
const answerIds = [...tokenizer.encode(text).slice(0, perHalf), end]
const answerLogprobs = answerIds.map(() => -0.5)

interface Play {
  tokens: number
  cpuMs: number
  turns: Turn[]
  messages: InferenceMessage[]
}

/** CPU of one turn, and of the two parts of it that have to grow: reading the request and writing the policy's. */
interface Turn {
  wholeMs: number
  readingMs: number
  writingMs: number
}

function cpuNow(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Texts are those of one play alone: what was encoded lately is remembered. */
async function play(name: number): Promise<Play> {
  let writingMs = 0
  const session = openSession({
    tokenizer,
    template,
    turnTokens,
    maxTokens: 1 << 20,
    server: {
      name: "instant",
      completeTokens: (ids) => {
        const began = cpuNow()
        // As an adapter does it, down to the bytes for the socket.
        requestBody({ prompt: ids, max_tokens: 1000 })
        writingMs = cpuNow() - began
        return Promise.resolve({
          choices: [{ tokenIds: answerIds, logprobs: answerLogprobs, text: "", finishReason: "stop", versions: [] }],
          logprobsMode: "raw",
          departures: [],
          usage: { promptTokens: 0, completionTokens: 0 },
        })
      },
    },
  })
  const messages: InferenceMessage[] = []
  const costs: Turn[] = []
  let cpuMs = 0
  for (let turn = 0; turn < turns; turn += 1) {
    messages.push({ role: "user", content: textOf(`${name}.${turn}`) })
    const body = JSON.stringify(messages)
    const began = cpuNow()
    const read = readRequest(body)
    const between = cpuNow()
    const { message } = await session.chat(read)
    const ended = cpuNow()
    cpuMs += ended - began
    costs.push({ wholeMs: ended - began, readingMs: between - began, writingMs })
    messages.push(message)
  }
  const [sequence, ...others] = session.sequences()
  if (others.length > 0 || sequence === undefined) throw new Error("the conversation should be one sequence")
  return { tokens: sequence.tokens.length, cpuMs, turns: costs, messages }
}

/** What any endpoint does with a request, whatever it answers. */
function readRequest(body: string): InferenceMessage[] {
  return toChatMessages(JSON.parse(body) as InferenceMessage[])
}

for (const name of [-1, -2, -3]) await play(name)
const plays: Play[] = []
for (let round = 0; round < rounds; round += 1) plays.push(await play(round))
const [one] = plays
if (one === undefined) throw new Error("nothing was measured")

const failures: string[] = []
const perSecond = median(plays.map(({ tokens, cpuMs }) => (tokens / cpuMs) * 1000))
console.log(`session: ${turns} turns, ${one.tokens} tokens: ${Math.round(perSecond)} tokens/s of CPU`)

const quarter = turns / 4
const inQuarter = (index: number, part: (turn: Turn) => number): number =>
  median(plays.map((played) => sum(played.turns.slice(index * quarter, (index + 1) * quarter).map(part)) / quarter))
const [early, late] = [1, 3].map((index) => ({
  wholeMs: inQuarter(index, ({ wholeMs }) => wholeMs),
  readingMs: inQuarter(index, ({ readingMs }) => readingMs),
  writingMs: inQuarter(index, ({ writingMs }) => writingMs),
})) as [Turn, Turn]
const encodeOnce = await measureMs(() => tokenizer.encode(text))
const encodeAll = await measureMs(() => tokenizer.encode(template.render({ messages: one.messages })))
const ms = (one: number, other: number): string => `${one.toFixed(2)} → ${other.toFixed(2)} ms`
const ratio = (part: (turn: Turn) => number): string => (part(late) / part(early)).toFixed(2)
console.log(`a turn, second quarter → last: ${ms(early.wholeMs, late.wholeMs)}`)
console.log(
  `  of which reading the request ${ms(early.readingMs, late.readingMs)}, writing the policy's ${ms(early.writingMs, late.writingMs)}, ` +
    `encoding the new text ${encodeOnce.toFixed(2)} ms`,
)
console.log(
  `  the last quarter is ${ratio((turn) => turn.wholeMs - turn.readingMs)} times the second less the reading, ` +
    `${ratio((turn) => turn.wholeMs - turn.readingMs - turn.writingMs)} less reading and writing`,
)
console.log(`  encoding all anew would take ${encodeAll.toFixed(1)} ms`)
if (late.wholeMs > encodeAll / 4) failures.push("a late turn costs a good part of tokenizing the whole conversation")
if (late.wholeMs - late.readingMs > 1.6 * (early.wholeMs - early.readingMs))
  failures.push("turns cost more and more as the history grows")
if (perSecond < 100_000) failures.push("less than 100,000 tokens/s")

const renderMs = await measureMs(() => template.render({ messages: one.messages }))
console.log(`render of all ${one.messages.length} messages: ${(1000 / renderMs).toFixed(0)}/s`)
const python = pythonRenders(one.messages)
if (python === undefined) console.log("Python's engine: not measured (python3 has no jinja2)")
else {
  console.log(
    `Python's engine: ${python.toFixed(0)}/s, so ours is ${(1000 / renderMs / python).toFixed(1)} times as fast`,
  )
  if (1000 / renderMs < python / 4) failures.push("rendering is more than 4 times slower than Python's")
}

for (const failure of failures) console.error(`FAILED: ${failure}`)
process.exit(short && failures.length > 0 ? 1 : 0)

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** CPU of one call, the median of several batches. */
async function measureMs(run: () => unknown): Promise<number> {
  run()
  const batches: number[] = []
  for (let batch = 0; batch < rounds; batch += 1) {
    const began = cpuNow()
    let calls = 0
    do {
      run()
      calls += 1
    } while (cpuNow() - began < 30)
    batches.push((cpuNow() - began) / calls)
    await Promise.resolve()
  }
  return median(batches)
}

/** Renders a second by Python's engine, set up as transformers does; undefined without it. */
function pythonRenders(messages: readonly InferenceMessage[]): number | undefined {
  const program = `
import json, sys, time
from jinja2.sandbox import ImmutableSandboxedEnvironment
request = json.load(sys.stdin)
environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
environment.filters["tojson"] = lambda x, **k: json.dumps(x, ensure_ascii=False, **k)
template = environment.from_string(request["template"])
began, count = time.process_time(), 0
while time.process_time() - began < 0.5:
    template.render(messages=request["messages"], tools=None, add_generation_prompt=True)
    count += 1
print(count / (time.process_time() - began))
`
  const result = spawnSync(process.env["ATROPOS_PYTHON"] ?? "python3", ["-c", program], {
    input: JSON.stringify({ template: template.source, messages }),
    encoding: "utf8",
    maxBuffer: 1 << 20,
  })
  return result.status === 0 ? Number(result.stdout) : undefined
}
