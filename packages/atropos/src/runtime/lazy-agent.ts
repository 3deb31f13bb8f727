import type { Agent, Dispatcher, request } from "undici"

type RequestOptions = Omit<Dispatcher.RequestOptions<null>, "origin" | "path">

/** Connections that undici keeps open. It is loaded for the first request: many who load the library send none. */
export class LazyAgent {
  readonly #options: Agent.Options
  #opened: Promise<{ agent: Agent; send: typeof request }> | undefined
  #destroyed = false

  constructor(options: Agent.Options) {
    this.#options = options
  }

  async request(url: string, options: RequestOptions): Promise<Dispatcher.ResponseData> {
    this.#opened ??= this.#open()
    const { agent, send } = await this.#opened
    return send(url, { ...options, dispatcher: agent })
  }

  /** Ends all connections, and requests with them; later ones are refused. Safe to call twice. */
  async destroy(): Promise<void> {
    this.#destroyed = true
    const agent = (await this.#opened)?.agent
    if (agent !== undefined && !agent.destroyed) await agent.destroy()
  }

  async #open(): Promise<{ agent: Agent; send: typeof request }> {
    const undici = await import("undici")
    const agent = new undici.Agent(this.#options)
    if (this.#destroyed) await agent.destroy()
    return { agent, send: undici.request }
  }
}
