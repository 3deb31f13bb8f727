/** An event that has happened and is not in the log yet. */
interface PendingNote {
  readonly order: number
  readonly text: string
}

/** What one commit takes along. */
export interface NotesTaken {
  readonly notes: readonly PendingNote[]
  readonly events: readonly string[]
}

/** Notes that wait for the next commit, in the order in which they happened. */
export class PendingNotes {
  #notes: PendingNote[] = []
  #count = 0

  get isEmpty(): boolean {
    return this.#notes.length === 0
  }

  add(text: string): void {
    this.#notes.push({ order: this.#count++, text })
  }

  take(): NotesTaken {
    const notes = this.#notes
    this.#notes = []
    return { notes, events: notes.map(({ text }) => text) }
  }

  /** Their commit failed: they are true all the same, and go with the next one. */
  giveBack({ notes }: NotesTaken): void {
    this.#notes = [...notes, ...this.#notes].toSorted((a, b) => a.order - b.order)
  }
}
