// node conformance/interop/original.ts [--runs 400] [--seed 1]
//
// Random calls, to atroposlib's own trajectory server and to ours: statuses and bodies have to be the same, but for what
// original/deliberate.ts lists. A sequence ends where the two runs part on purpose. `GET /batch` stands for polling
// until there is no batch: the original forms as many batches as it can at once and hands them out newest first.
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

import { createMemoryStore } from "../../packages/atropos/src/server/stores/memory-store.ts"
import { createTrajectoryServer } from "../../packages/atropos/src/server/trajectory-server.ts"
import { takePacks } from "../reference/rules.ts"
import { Exchange, type WireAnswer } from "../suites/wire/exchange.ts"
import { type Call, randomSequences, spell } from "./original/calls.ts"
import { findAnswerDifference } from "./original/compare.ts"
import { allowances, fieldOf, fieldsOf, idOf, isBatch, partings, textOf } from "./original/deliberate.ts"
import { firstTokensOf, groupsOf, KnownRun } from "./original/known-run.ts"

const { values } = parseArgs({ options: { runs: { type: "string" }, seed: { type: "string" } } })
const runs = Number(values.runs ?? process.env["ATROPOS_RANDOM_RUNS"] ?? 400)
const seed = Number(values.seed ?? 1)
/** More failures than these are of the same few kinds. */
const shownFailures = 10

interface Peers {
  readonly theirs: Exchange
  readonly ours: Exchange
}

/** How often each deliberate difference was met. */
const met = new Map<string, number>()
const outcomes = { calls: 0, batches: 0, alike: 0, different: 0 }

function meet(name: string): void {
  met.set(name, (met.get(name) ?? 0) + 1)
}

async function startOriginal(): Promise<{ url: string; child: ChildProcess }> {
  const program = fileURLToPath(new URL("original/server.py", import.meta.url))
  const env = { ...process.env, PYTHONPATH: fileURLToPath(new URL("trajectory/stand-ins", import.meta.url)) }
  const child = spawn(process.env["ATROPOS_PYTHON"] ?? "python3", [program], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  })
  for await (const port of createInterface({ input: child.stdout })) return { url: `http://127.0.0.1:${port}`, child }
  throw new Error("the original's server ended before it said where it listens")
}

function send(exchange: Exchange, { method, path, body, contentType, gzip }: Call): Promise<WireAnswer> {
  return exchange.send({
    method,
    path,
    body: body === null ? null : Buffer.from(spell(body)),
    // The original breaks a connection some time after it has answered with a 500.
    headers: new Map([
      ["connection", "close"],
      ...(contentType === undefined ? [] : [["content-type", contentType] as const]),
    ]),
    gzip: gzip ?? false,
    follow: false,
  })
}

const read = (path: string): Call => ({ method: "GET", path, body: null })

/** `parted`: the two runs are no longer the same, as they should be. */
type Outcome = "alike" | "parted" | { readonly different: string }

async function compareCall(call: Call, peers: Peers, known: KnownRun): Promise<Outcome> {
  if (isBatch(call) && known.registration !== null) return compareBatches(peers, known)
  const [theirs, ours] = await Promise.all([send(peers.theirs, call), send(peers.ours, call)])
  outcomes.calls += 1
  const exchanged = { call, theirs, ours, known }
  const difference = findAnswerDifference(theirs, ours)
  const parting = partings.find((deliberate) => deliberate.applies(exchanged))
  if (parting !== undefined) {
    meet(parting.name)
    return parting.ours(exchanged) ? "parted" : { different: `${parting.name}, but ${describe(theirs, ours)}` }
  }
  if (difference !== null) {
    const allowance = allowances.find((deliberate) => deliberate.applies(exchanged) && deliberate.ours(exchanged))
    if (allowance === undefined) return { different: `${difference}: ${describe(theirs, ours)}` }
    meet(allowance.name)
  }
  if (theirs.status === 200) note(call, ours, known)
  return "alike"
}

function note(call: Call, ours: WireAnswer, known: KnownRun): void {
  if (call.path === "/register") known.register(fieldsOf(call))
  else if (call.path === "/reset_data") known.reset()
  else if (call.path === "/register-env" && textOf(ours, "status") === "success")
    known.registerEnvironment(fieldsOf(call))
  else if (call.path === "/disconnect-env") {
    const environment = known.environments[idOf(call)]
    if (environment !== undefined) environment.connected = false
  } else for (const group of groupsOf(call)) known.push(group)
}

/** All batches there are: theirs, the newest first, are the first of ours; the rest of ours is by other rules. */
async function compareBatches({ theirs, ours }: Peers, known: KnownRun): Promise<Outcome> {
  const [their, our] = await Promise.all([drain(theirs), drain(ours)])
  outcomes.calls += 1
  const last = findAnswerDifference(their.last, our.last)
  if (last !== null) return { different: `after the last batch: ${last}` }
  const theirBatches = their.batches.toReversed()
  for (const [index, batch] of our.batches.entries()) {
    const theirBatch = theirBatches[index]
    const otherwise = theirBatch === undefined || findAnswerDifference(theirBatch, batch) !== null
    const rule = otherwise ? otherRule(known) : null
    const expected = known.takeBatch()?.map(({ firstToken }) => firstToken)
    const received = firstTokensOf(fieldOf(batch, "batch"))
    if (received?.join() !== expected?.join())
      return { different: `batch ${index}: by the rules ${expected?.join()}, ours ${received?.join()}` }
    if (rule !== null) {
      meet(rule)
      return "parted"
    }
    outcomes.batches += 1
    if (otherwise)
      return { different: `batch ${index}: theirs ${theirBatch?.text.slice(0, 300)}, ours ${batch.text.slice(0, 300)}` }
  }
  if (theirBatches.length <= our.batches.length) return "alike"
  const rule = otherRule(known)
  if (rule === null || known.takeBatch() !== null)
    return { different: `theirs has ${theirBatches.length} batches, ours ${our.batches.length}` }
  meet(rule)
  return "parted"
}

/** By which rule of ours the next batch is another one than the original's, if it may be. */
function otherRule(known: KnownRun): string | null {
  const { counted, minimums, batchSize, environments } = known
  if (environments.some(({ connected, minimum }) => connected && minimum !== null)) {
    const [oldest] = counted
    const isPlain = counted.every(({ size, environment }) => size === oldest?.size && environment !== null)
    const isMet = minimums.every(({ environment, sequences }) => {
      return counted.reduce((sum, group) => sum + (group.environment === environment ? group.size : 0), 0) >= sequences
    })
    return isPlain && isMet ? null : "minimum allocations hold for every size and are waited for"
  }
  return counted.length > 0 && takePacks(counted, batchSize) === null
    ? "sizes that do not pack make a batch when they sum to it"
    : null
}

async function drain(exchange: Exchange): Promise<{ batches: WireAnswer[]; last: WireAnswer }> {
  const batches: WireAnswer[] = []
  for (;;) {
    const answer = await send(exchange, read("/batch"))
    if (firstTokensOf(fieldOf(answer, "batch")) === null) return { batches, last: answer }
    batches.push(answer)
  }
}

function describe(theirs: WireAnswer, ours: WireAnswer): string {
  const brief = ({ status, text }: WireAnswer): string => `${status} ${text.slice(0, 400)}`
  return `theirs ${brief(theirs)}, ours ${brief(ours)}`
}

async function compareSequence(calls: readonly Call[], peers: Peers): Promise<string | null> {
  await Promise.all([
    send(peers.theirs, { ...read("/state"), method: "DELETE" }),
    send(peers.ours, read("/reset_data")),
  ])
  const known = new KnownRun()
  for (const [index, call] of calls.entries()) {
    const outcome = await compareCall(call, peers, known).catch((error: unknown) => ({
      different: `no answer: ${String(error)}`,
    }))
    if (outcome === "parted") return null
    if (outcome === "alike") continue
    const lines = calls
      .slice(0, index + 1)
      .map(({ method, path, body }) => `    ${method} ${path} ${body === null ? "" : spell(body).slice(0, 400)}`)
    return `  ${outcome.different}\n${lines.join("\n")}`
  }
  return null
}

const original = await startOriginal()
const server = createTrajectoryServer({ store: createMemoryStore() })
const peers = {
  theirs: new Exchange(original.url),
  ours: new Exchange(await server.listen({ host: "127.0.0.1", port: 0 })),
}
try {
  for (const [index, calls] of randomSequences(seed, runs).entries()) {
    const failure = await compareSequence(calls, peers)
    outcomes[failure === null ? "alike" : "different"] += 1
    if (failure !== null && outcomes.different <= shownFailures)
      console.log(`failed: sequence ${index} of seed ${seed}\n${failure}`)
  }
} finally {
  for (const exchange of Object.values(peers)) exchange.close()
  original.child.kill()
  await server.close()
}
console.log(
  `original: ${outcomes.alike} sequences alike, ${outcomes.different} different (${outcomes.calls} calls, ${outcomes.batches} batches, seed ${seed})`,
)
for (const [name, count] of [...met].toSorted(([, a], [, b]) => b - a))
  console.log(`  ${String(count).padStart(5)} times: ${name}`)
process.exitCode = outcomes.different > 0 ? 1 : 0
