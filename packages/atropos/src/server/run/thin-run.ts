import type { RegisterEnvironmentRequest, RegisterRequest } from "../../protocol/messages.ts"

interface QueuedGroup {
  id: number
  size: number
  env: number | null
}

interface EnvironmentState {
  registration: RegisterEnvironmentRequest
  connected: boolean
  buffer: QueuedGroup[]
}

/** The state of one run: registration, step, environments, buffers and queue. No I/O. */
export class Run {
  registration: RegisterRequest | null = null
  started = false
  step = 0
  latest: number | null = null
  readonly environments: EnvironmentState[] = []
  #queue: QueuedGroup[] = []

  register(registration: RegisterRequest): "updated" | "new" | "same" {
    const before = this.registration
    if (before !== null && JSON.stringify(before) === JSON.stringify(registration)) return "same"
    this.registration = registration
    this.step = registration.starting_step
    return before === null ? "new" : "updated"
  }

  registerEnvironment(registration: RegisterEnvironmentRequest): number {
    return this.environments.push({ registration, connected: true, buffer: [] }) - 1
  }

  get queueSize(): number {
    return this.#queue.length
  }

  push(group: QueuedGroup): number | null {
    const environment = group.env === null ? undefined : this.environments[group.env]
    const counted = { ...group, env: environment === undefined ? null : group.env }
    if (environment === undefined || group.size >= environment.registration.group_size) {
      this.#enqueue(counted)
      return null
    }
    environment.buffer.push(counted)
    const taken = findExact(environment.buffer, environment.registration.group_size)
    if (taken !== null) {
      environment.buffer = environment.buffer.filter((entry) => !taken.includes(entry))
      for (const entry of taken) this.#enqueue(entry)
    }
    return environment.buffer.reduce((sum, entry) => sum + entry.size, 0)
  }

  takeBatch(): number[] | null {
    if (this.registration === null) return null
    const taken = findExact(this.#queue, this.registration.batch_size)
    if (taken === null) return null
    const gone = new Set(taken)
    this.#queue = this.#queue.filter((entry) => !gone.has(entry))
    this.step += 1
    return taken.map((entry) => entry.id)
  }

  environmentStatus(id: number): object {
    const environment = this.environments[id]
    const largest = this.#queue.reduce((max, entry) => Math.max(max, entry.size), 1)
    const sequences = (env: number | null) =>
      this.#queue.reduce((sum, entry) => sum + (entry.env === env ? entry.size : 0), 0)
    const connected = this.environments.filter((entry) => entry.connected).map((entry) => entry.registration)
    const share = (registration: RegisterEnvironmentRequest) =>
      registration.max_token_length * Math.max(0, registration.weight)
    const total = connected.reduce((sum, registration) => sum + share(registration), 0)
    const allocated = connected.reduce((sum, registration) => sum + (registration.min_batch_allocation ?? 0), 0)
    const all = this.#queue.reduce((sum, entry) => sum + entry.size, 0)
    const common = {
      current_step: this.registration === null ? 0 : this.step,
      unallocated_fraction: 1 - Math.min(1, allocated),
      max_group_size: largest,
    }
    if (environment === undefined) {
      return { ...common, queue_size: Math.floor(all / largest), self_queue_size: 0, env_weight: 1, registered: false }
    }
    const groupSize = environment.registration.group_size
    const own = sequences(id)
    return {
      ...common,
      queue_size: Math.floor((own + Math.ceil((all - own) / largest) * largest) / groupSize),
      self_queue_size: Math.floor(own / groupSize),
      env_weight: total === 0 ? 1 : Math.max(0.01, share(environment.registration) / total),
    }
  }

  #enqueue(group: QueuedGroup): void {
    this.#queue.push(group)
    this.latest = group.id
  }
}

/** The oldest entries, taken one by one when the newer ones can still complete the sum. */
function findExact(entries: readonly QueuedGroup[], sum: number): QueuedGroup[] | null {
  const taken: QueuedGroup[] = []
  let left = sum
  for (const [index, entry] of entries.entries()) {
    if (left > 0 && entry.size <= left && canSum(entries, index + 1, left - entry.size)) {
      taken.push(entry)
      left -= entry.size
    }
  }
  return left === 0 ? taken : null
}

function canSum(entries: readonly QueuedGroup[], from: number, sum: number): boolean {
  const reached = new Uint8Array(sum + 1)
  reached[0] = 1
  for (const { size } of entries.slice(from)) {
    for (let total = sum; total >= size; total--) if (reached[total - size] === 1) reached[total] = 1
  }
  return reached[sum] === 1
}
