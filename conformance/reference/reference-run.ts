import { formBatch, type ReferenceGroup, type ReferenceMinimum, sumOf, takeExactly } from "./rules.ts"

export interface ReferenceTrainer {
  wandb_group: string
  wandb_project: string
  batch_size: number
  max_token_len: number
  checkpoint_dir: string
  save_checkpoint_interval: number
  starting_step: number
  num_steps: number
}

export interface ReferenceEnvironment {
  max_token_length: number
  desired_name: string
  weight: number
  group_size: number
  min_batch_allocation?: number | null
}

export interface ReferencePush {
  id: number
  size: number
  env_id: number | null
}

interface EnvironmentState extends ReferenceEnvironment {
  connected: boolean
  buffer: ReferenceGroup[]
}

/** What the contract says of one run, for small numbers, in the plainest form: it walks everything at every call. */
export class ReferenceRun {
  #trainer: ReferenceTrainer | null = null
  #started = false
  #step = 0
  #environments: EnvironmentState[] = []
  #queue: ReferenceGroup[] = []
  #latest: number | null = null

  register(trainer: ReferenceTrainer): { status?: "updated" } {
    const before = this.#trainer
    if (before !== null && JSON.stringify(before) === JSON.stringify(trainer)) return {}
    this.#trainer = trainer
    this.#step = trainer.starting_step
    return before === null ? {} : { status: "updated" }
  }

  get info(): object {
    return { batch_size: this.#trainer?.batch_size ?? -1, max_token_len: this.#trainer?.max_token_len ?? -1 }
  }

  get wandbInfo(): object {
    return { group: this.#trainer?.wandb_group ?? null, project: this.#trainer?.wandb_project ?? null }
  }

  get latest(): number | null {
    return this.#latest
  }

  get status(): { current_step: number; queue_size: number } {
    if (this.#trainer === null) return { current_step: 0, queue_size: 0 }
    return { current_step: this.#step, queue_size: this.#counted.length }
  }

  /** Whether a poll would get null now. */
  get hasNoBatch(): boolean {
    return this.#trainer !== null && this.#nextBatch() === null
  }

  /** The ids of the next batch, null, or `error` before registration. */
  batch(): number[] | null | "error" {
    if (this.#trainer === null) return "error"
    this.#started = true
    const batch = this.#nextBatch()
    if (batch === null) return null
    this.#queue = this.#queue.filter((group) => !batch.includes(group))
    this.#step += 1
    return batch.map(({ id }) => id)
  }

  registerEnvironment(environment: ReferenceEnvironment): object {
    if (!this.#started || this.#trainer === null) return { status: "wait for trainer to start" }
    const before = this.#environments.filter(({ desired_name }) => desired_name === environment.desired_name).length
    this.#environments.push({ ...environment, connected: true, buffer: [] })
    return {
      status: "success",
      env_id: this.#environments.length - 1,
      wandb_name: `${environment.desired_name}_${before}`,
      checkpoint_dir: this.#trainer.checkpoint_dir,
      starting_step: this.#step,
      checkpoint_interval: this.#trainer.save_checkpoint_interval,
      num_steps: this.#trainer.num_steps,
    }
  }

  disconnectEnvironment(id: number): "success" | "failure" {
    const environment = this.#environments[id]
    if (environment === undefined) return "failure"
    environment.connected = false
    return "success"
  }

  /** What stays in the buffers of those that went there, in order; `too-long` where a group is larger than the batch. */
  push(groups: readonly ReferencePush[]): { buffered: number[] } | "too-long" {
    if (groups.some(({ size }) => size > this.#batchSize)) return "too-long"
    const buffered: number[] = []
    for (const { id, size, env_id } of groups) {
      const environment = env_id === null ? undefined : this.#environments[env_id]
      const group: ReferenceGroup = { id, size, environment: environment === undefined ? null : env_id }
      if (environment === undefined || size >= environment.group_size) {
        this.#enqueue(group)
        continue
      }
      environment.buffer.push(group)
      const complete = takeExactly(environment.buffer, environment.group_size) ?? []
      environment.buffer = environment.buffer.filter((other) => !complete.includes(other))
      for (const other of complete) this.#enqueue(other)
      buffered.push(sumOf(environment.buffer))
    }
    return { buffered }
  }

  environmentStatus(id: number): object {
    const counted = this.#counted
    const connected = this.#environments.filter((environment) => environment.connected)
    const largest = Math.max(1, ...counted.map(({ size }) => size))
    const allocated = connected.reduce((sum, { min_batch_allocation }) => sum + (min_batch_allocation ?? 0), 0)
    const shared = {
      current_step: this.#trainer === null ? 0 : this.#step,
      unallocated_fraction: 1 - Math.min(1, allocated),
      max_group_size: largest,
    }
    const environment = this.#environments[id]
    if (environment === undefined || this.#trainer === null) {
      const queueSize = Math.floor(sumOf(counted) / largest)
      return { ...shared, queue_size: queueSize, self_queue_size: 0, env_weight: 1, registered: false }
    }
    const queued = (owner: number | null): number => sumOf(counted.filter((group) => group.environment === owner))
    let others = Math.ceil(queued(null) / largest) * largest
    for (const [other, { connected: isConnected, min_batch_allocation }] of this.#environments.entries()) {
      if (other === id) continue
      const minimum = isConnected ? Math.floor(this.#batchSize * (min_batch_allocation ?? 0)) : 0
      others += Math.max(0, Math.ceil(queued(other) / largest) * largest - minimum)
    }
    const weights = connected.reduce(
      (sum, { max_token_length, weight }) => sum + max_token_length * Math.max(0, weight),
      0,
    )
    const own = environment.max_token_length * environment.weight
    return {
      ...shared,
      queue_size: Math.floor((queued(id) + others) / environment.group_size),
      self_queue_size: Math.floor(queued(id) / environment.group_size),
      env_weight: weights === 0 ? 1 : Math.max(0.01, own / weights),
    }
  }

  get #batchSize(): number {
    return this.#trainer?.batch_size ?? Infinity
  }

  get #counted(): ReferenceGroup[] {
    return this.#queue.filter(({ size }) => size <= this.#batchSize)
  }

  #nextBatch(): ReferenceGroup[] | null {
    const minimums: ReferenceMinimum[] = []
    for (const [environment, { connected, min_batch_allocation }] of this.#environments.entries()) {
      const sequences = Math.floor(this.#batchSize * (min_batch_allocation ?? 0))
      if (connected && sequences >= 1) minimums.push({ environment, sequences })
    }
    return formBatch(this.#queue, minimums, this.#batchSize)
  }

  #enqueue(group: ReferenceGroup): void {
    this.#queue.push(group)
    this.#latest = group.id
  }
}
