import { formBatch, type ReferenceGroup, type ReferenceMinimum, takeExactly } from "../../reference/rules.ts"
import { isLiteralNumber, isLiteralObject, type LiteralJson } from "../../suites/wire/literal-json.ts"
import type { Call, Spelling } from "./calls.ts"

export interface KnownGroup {
  readonly firstToken: string
  readonly size: number
  /** As it was sent: an environment need not have that id. */
  readonly environment: number | null
}

export interface KnownEnvironment {
  readonly groupSize: number
  readonly minimum: number | null
  readonly buffer: KnownGroup[]
  connected: boolean
}

/** What both servers know after the calls so far, from what they were told and answered alike. */
export class KnownRun {
  registration: string | null = null
  batchSize: number = Infinity
  started = false
  wasReset = false
  /** Whether a group came to the queue since the last reset. */
  hasLatest = false
  environments: KnownEnvironment[] = []
  queue: KnownGroup[] = []

  register(fields: Readonly<Record<string, Spelling>>): void {
    this.registration = describeRegistration(fields)
    this.batchSize = readNumber(fields["batch_size"]) ?? Infinity
  }

  registerEnvironment(fields: Readonly<Record<string, Spelling>>): void {
    this.environments.push({
      groupSize: readNumber(fields["group_size"]) ?? 1,
      minimum: readNumber(fields["min_batch_allocation"]),
      buffer: [],
      connected: true,
    })
  }

  push(group: KnownGroup): void {
    const environment = this.environmentOf(group)
    if (environment === undefined || group.size === environment.groupSize) return this.#enqueue([group])
    const { buffer, groupSize } = environment
    buffer.push(group)
    const complete = walk(buffer, groupSize)
    if (complete === null) return
    environment.buffer.splice(0, buffer.length, ...buffer.filter((other) => !complete.includes(other)))
    this.#enqueue(complete)
  }

  environmentOf({ environment }: KnownGroup): KnownEnvironment | undefined {
    return environment === null ? undefined : this.environments[environment]
  }

  /** Whether the two choose differently for a buffer when these groups come: what overshoots is not simply skipped. */
  choosesApart(groups: readonly KnownGroup[]): boolean {
    const copy = Object.assign(new KnownRun(), this, {
      queue: [],
      environments: this.environments.map((environment) => ({ ...environment, buffer: [...environment.buffer] })),
    })
    return groups.some((group) => {
      const environment = copy.environmentOf(group)
      const before = copy.queue.length
      copy.push(group)
      if (environment === undefined || copy.queue.length > before) return false
      return takeExactly(environment.buffer.map(toReference), environment.groupSize) !== null
    })
  }

  get minimums(): ReferenceMinimum[] {
    return this.environments.flatMap(({ minimum, connected }, environment) => {
      const sequences = Math.floor(this.batchSize * (minimum ?? 0))
      return connected && sequences >= 1 ? [{ environment, sequences }] : []
    })
  }

  /** The queue as the rules count it. */
  get counted(): ReferenceGroup[] {
    return this.queue.map((group, id) => {
      return { id, size: group.size, environment: this.environmentOf(group) === undefined ? null : group.environment }
    })
  }

  /** The next batch by the contract, taken out of the queue. */
  takeBatch(): KnownGroup[] | null {
    const batch = formBatch(this.counted, this.minimums, this.batchSize)
    if (batch === null) return null
    const taken = batch.map(({ id }) => this.queue[id]).filter((group) => group !== undefined)
    this.queue = this.queue.filter((group) => !taken.includes(group))
    return taken
  }

  reset(): void {
    Object.assign(this, new KnownRun(), { wasReset: true })
  }

  #enqueue(groups: readonly KnownGroup[]): void {
    this.queue.push(...groups)
    this.hasLatest = true
  }
}

function toReference({ size, environment }: KnownGroup, id: number): ReferenceGroup {
  return { id, size, environment }
}

/** From the oldest, skipping what overshoots. */
function walk(buffer: readonly KnownGroup[], target: number): KnownGroup[] | null {
  const taken: KnownGroup[] = []
  let sum = 0
  for (const group of buffer) {
    if (sum + group.size > target) continue
    taken.push(group)
    sum += group.size
    if (sum === target) return taken
  }
  return null
}

export function describeRegistration(fields: Readonly<Record<string, Spelling>>): string {
  const numbers = ["batch_size", "max_token_len", "save_checkpoint_interval", "starting_step", "num_steps"]
  const texts = ["wandb_group", "wandb_project", "checkpoint_dir"].map((name): unknown =>
    JSON.parse(fields[name] ?? ""),
  )
  return JSON.stringify([...texts, ...numbers.map((name) => readNumber(fields[name]))])
}

/** What both servers take a number for that was spelled so, if they take it. */
export function readNumber(spelling: Spelling | undefined): number | null {
  if (spelling === undefined || spelling === "null") return null
  if (spelling === "true" || spelling === "false") return spelling === "true" ? 1 : 0
  return Number(spelling.replaceAll(/["_ ]/g, ""))
}

/** The groups of a push. */
export function groupsOf({ path, body }: Call): KnownGroup[] {
  if (body === null || "text" in body || !path.startsWith("/scored_data")) return []
  const groups = "groups" in body ? body.groups : [body.fields]
  return groups.map((fields) => {
    const tokens = fields["tokens"] ?? "[]"
    const firstToken = /-?\d+/.exec(tokens)?.[0] ?? ""
    return { firstToken, size: rowsOf(tokens), environment: readNumber(fields["env_id"]) }
  })
}

function rowsOf(tokens: Spelling): number {
  try {
    const rows: unknown = JSON.parse(tokens)
    return Array.isArray(rows) ? rows.length : 0
  } catch {
    return 0
  }
}

/** The first token of each group of a batch; null when the answer is none. */
export function firstTokensOf(batch: LiteralJson | undefined): string[] | null {
  if (!Array.isArray(batch)) return null
  return batch.map((group) => {
    const tokens = isLiteralObject(group) ? group.entries.get("tokens") : null
    const row = Array.isArray(tokens) ? tokens[0] : null
    const token = Array.isArray(row) ? row[0] : null
    return token !== null && token !== undefined && isLiteralNumber(token) ? token.literal : ""
  })
}
