/** The exceptions of Python and Jinja that templates can run into. */
export type FailureKind =
  | "TemplateSyntaxError"
  | "TemplateError"
  | "UndefinedError"
  | "SecurityError"
  | "TypeError"
  | "ValueError"
  | "KeyError"
  | "IndexError"
  | "ZeroDivisionError"
  | "OverflowError"
  | "LimitError"
  | "NotSupported"

/** Raised inside the engine; at its edge it becomes an AtroposError. Messages name types, never values. */
export class TemplateFailure extends Error {
  readonly kind: FailureKind
  /** Line of the template, from 1; set where the failure passes a statement. */
  line: number | undefined

  constructor(kind: FailureKind, message: string, line?: number) {
    super(message)
    this.name = "TemplateFailure"
    this.kind = kind
    this.line = line
  }
}

export function typeError(message: string): TemplateFailure {
  return new TemplateFailure("TypeError", message)
}

export function valueError(message: string): TemplateFailure {
  return new TemplateFailure("ValueError", message)
}
