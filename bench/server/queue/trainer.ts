import { Client } from "undici"

export const groupSize = 4
export const batchSize = 32
const groupsPerPush = 1000

const group = {
  tokens: Array.from({ length: groupSize }, (_, row) => [row, 2, 3, 4]),
  masks: Array.from({ length: groupSize }, () => [-100, 2, 3, 4]),
  scores: [1.5, 0.5, 0.25, -1.5],
}

/** The calls of a trainer and of four environments, one after the other over one connection. */
export class Trainer {
  readonly #client: Client
  #pushed = 0

  constructor(address: string) {
    this.#client = new Client(address, { pipelining: 1 })
  }

  async call(method: "GET" | "POST", path: string, body?: unknown): Promise<string> {
    const response = await this.#client.request({
      method,
      path,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    })
    const text = await response.body.text()
    if (response.statusCode !== 200) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`)
    return text
  }

  /** Groups of the environments in turn. */
  async push(count: number): Promise<void> {
    for (let left = count; left > 0; left -= groupsPerPush) {
      const groups = Array.from({ length: Math.min(left, groupsPerPush) }, () => ({
        ...group,
        env_id: this.#pushed++ % 4,
      }))
      await this.call("POST", "/scored_data_list", groups)
    }
  }

  async pushOne(): Promise<void> {
    await this.call("POST", "/scored_data", { ...group, env_id: this.#pushed++ % 4 })
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

/** Registers a trainer, starts it, and registers four environments. */
export async function begin(trainer: Trainer, minimum: number | null): Promise<void> {
  await trainer.call("POST", "/register", {
    wandb_group: "g",
    wandb_project: "p",
    batch_size: batchSize,
    max_token_len: 64,
    checkpoint_dir: "",
    save_checkpoint_interval: 1,
    starting_step: 0,
    num_steps: 1_000_000,
  })
  await trainer.call("GET", "/batch")
  for (let index = 0; index < 4; index++) {
    const environment = { max_token_length: 64, desired_name: "e", weight: 1, group_size: groupSize }
    await trainer.call("POST", "/register-env", { ...environment, min_batch_allocation: minimum })
  }
}
