import { Agent, type Dispatcher, request } from "undici"

import type {
  BatchResponse,
  DisconnectEnvironmentResponse,
  EnvironmentStatusResponse,
  InfoResponse,
  LogEntry,
  PushListResponse,
  PushResponse,
  RegisterEnvironmentRequest,
  RegisterEnvironmentResponse,
  RegisterRequest,
  ScoredGroup,
  StatusResponse,
  WandbInfoResponse,
} from "./messages.ts"
import { AtroposError } from "../runtime/errors.ts"

export interface TrajectoryClientOptions {
  /** Where the trajectory server answers, such as `http://127.0.0.1:8000`. */
  url: string
  /** The server's token, if it wants one. */
  token?: string
}

export interface CallOptions {
  signal?: AbortSignal
}

/** Talks to a trajectory server over connections that stay open. Any answer but a 2xx is a `server-refused` error. */
export class TrajectoryClient {
  readonly #base: string
  readonly #token: string | undefined
  readonly #agent = new Agent({ keepAliveTimeout: 30_000 })

  constructor(options: TrajectoryClientOptions) {
    this.#base = options.url.replace(/\/+$/, "")
    this.#token = options.token
  }

  register(body: RegisterRequest, options?: CallOptions): Promise<{ uuid: bigint; updated: boolean }> {
    return this.#call("POST", "/register", body, options, (text) => {
      const uuid = /"uuid":(\d+)/.exec(text)?.[1] ?? "0"
      return { uuid: BigInt(uuid), updated: text.includes('"updated"') }
    })
  }

  info(options?: CallOptions): Promise<InfoResponse> {
    return this.#call("GET", "/info", undefined, options)
  }

  wandbInfo(options?: CallOptions): Promise<WandbInfoResponse> {
    return this.#call("GET", "/wandb_info", undefined, options)
  }

  /** The next batch; null while none can be formed, after waiting up to `waitSeconds` for one. */
  batch(options: CallOptions & { waitSeconds?: number } = {}): Promise<BatchResponse> {
    const query = options.waitSeconds === undefined ? "" : `?wait=${options.waitSeconds}`
    return this.#call("GET", `/batch${query}`, undefined, options)
  }

  status(options?: CallOptions): Promise<StatusResponse> {
    return this.#call("GET", "/status", undefined, options)
  }

  latestExample(options?: CallOptions): Promise<ScoredGroup> {
    return this.#call("GET", "/latest_example", undefined, options)
  }

  registerEnvironment(body: RegisterEnvironmentRequest, options?: CallOptions): Promise<RegisterEnvironmentResponse> {
    return this.#call("POST", "/register-env", body, options)
  }

  disconnectEnvironment(environmentId: number, options?: CallOptions): Promise<DisconnectEnvironmentResponse> {
    return this.#call("POST", "/disconnect-env", { env_id: environmentId }, options)
  }

  environmentStatus(environmentId: number, options?: CallOptions): Promise<EnvironmentStatusResponse> {
    return this.#call("GET", `/status-env?env_id=${environmentId}`, undefined, options)
  }

  pushGroup(group: ScoredGroup, options?: CallOptions): Promise<PushResponse> {
    return this.#call("POST", "/scored_data", group, options)
  }

  pushGroups(groups: readonly ScoredGroup[], options?: CallOptions): Promise<PushListResponse> {
    return this.#call("POST", "/scored_data_list", groups, options)
  }

  /** Hands metrics to the server, to be kept with the run. */
  log(entries: readonly LogEntry[], options?: CallOptions): Promise<void> {
    return this.#call("POST", "/log", entries, options, () => {})
  }

  reset(options?: CallOptions): Promise<void> {
    return this.#call("GET", "/reset_data", undefined, options, () => {})
  }

  async close(): Promise<void> {
    await this.#agent.close()
  }

  async #call<Answer>(
    method: Dispatcher.HttpMethod,
    path: string,
    body: unknown,
    options: CallOptions | undefined,
    read: (text: string) => Answer = (text) => JSON.parse(text) as Answer,
  ): Promise<Answer> {
    const response = await request(this.#base + path, {
      method,
      dispatcher: this.#agent,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(options?.signal === undefined ? {} : { signal: options.signal }),
    })
    const text = await response.body.text()
    if (response.statusCode < 300) return read(text)
    throw new AtroposError(
      "server-refused",
      `${method} ${path} was answered with ${response.statusCode}: ${text.slice(0, 500)}`,
      {
        facts: { status: response.statusCode, path },
        retryable: response.statusCode >= 500,
      },
    )
  }
}
