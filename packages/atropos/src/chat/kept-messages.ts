import type { ChatMessage } from "./messages.ts"
import { toValue, type TemplateInput } from "./template/values/convert.ts"
import { TemplateFailure } from "./template/values/errors.ts"

/** Messages in the form in which templates see them, for whoever renders the same messages time and again. */
export class KeptMessages {
  readonly #values = new WeakMap<ChatMessage, Map<string, TemplateInput>>()

  /** The value of a message in one of its forms; made once, since templates cannot change what they are given. */
  value(message: ChatMessage, form: string, make: () => TemplateInput): TemplateInput {
    let forms = this.#values.get(message)
    if (forms === undefined) this.#values.set(message, (forms = new Map()))
    let value = forms.get(form)
    if (value === undefined) forms.set(form, (value = converted(make())))
    return value
  }
}

function converted(input: TemplateInput): TemplateInput {
  try {
    // A template takes its own values as they are.
    return toValue(input) as TemplateInput
  } catch (error) {
    // What cannot be converted is refused when it is rendered, in the words of a rendering.
    if (error instanceof TemplateFailure) return input
    throw error
  }
}
