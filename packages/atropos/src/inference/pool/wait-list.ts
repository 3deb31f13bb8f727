/** A place in a queue; `ticket` numbers grow with the time of arrival. */
export interface Waiter {
  readonly ticket: number
}

interface Node<W> {
  waiter: W
  before: Node<W> | undefined
  after: Node<W> | undefined
}

/** Waiters in the order of their tickets; joining at the end, taking the first and leaving early cost the same few steps. */
export class WaitList<W extends Waiter> {
  readonly #nodes = new Map<W, Node<W>>()
  #first: Node<W> | undefined
  #last: Node<W> | undefined

  get size(): number {
    return this.#nodes.size
  }

  get first(): W | undefined {
    return this.#first?.waiter
  }

  /** Newcomers go to the end; who comes over from another list, to where the ticket belongs. */
  add(waiter: W): void {
    let before = this.#last
    while (before !== undefined && before.waiter.ticket > waiter.ticket) before = before.before
    const after = before === undefined ? this.#first : before.after
    const node = { waiter, before, after }
    if (before === undefined) this.#first = node
    else before.after = node
    if (after === undefined) this.#last = node
    else after.before = node
    this.#nodes.set(waiter, node)
  }

  remove(waiter: W): boolean {
    const node = this.#nodes.get(waiter)
    if (node === undefined) return false
    this.#nodes.delete(waiter)
    if (node.before === undefined) this.#first = node.after
    else node.before.after = node.after
    if (node.after === undefined) this.#last = node.before
    else node.after.before = node.before
    return true
  }

  takeAll(): W[] {
    const all = [...this.#nodes.keys()].toSorted((a, b) => a.ticket - b.ticket)
    this.#nodes.clear()
    this.#first = undefined
    this.#last = undefined
    return all
  }
}
