/** A refusal in the shape in which vLLM's clients expect it. */
export class ApiError extends Error {
  readonly status: 400 | 404 | 503
  readonly param: string | null
  readonly type: string

  constructor(status: 400 | 404 | 503, message: string, param: string | null = null, type: string = types[status]) {
    super(message)
    this.status = status
    this.param = param
    this.type = type
  }

  get body(): { error: { message: string; type: string; param: string | null; code: number } } {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.status } }
  }
}

const types = { 400: "BadRequestError", 404: "NotFoundError", 503: "ServiceUnavailableError" } as const
