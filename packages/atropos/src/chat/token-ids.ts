import { AtroposError } from "../runtime/errors.ts"

/** Ids of tokens, in their order, as one may hand them in: a list, or the prompt of a conversation that goes on. */
export type TokenIdList = readonly number[] | TokenIds

/** The memory that the prompts of one conversation share, each being a beginning of it. */
interface Growing {
  values: Int32Array<ArrayBuffer>
  length: number
  largest: number
  /** The first `written` ids as JSON in `jsonLength` bytes, without the closing bracket. */
  json: Buffer<ArrayBuffer>
  jsonLength: number
  written: number
}

/**
 * The ids of a growing prompt. Going on from it copies nothing that is there already, and what was handed out never
 * changes; nor is its JSON written anew at each turn, which takes as long as the rest of a turn. It reads like any
 * list (index, `length`, `slice`, iteration), and JSON.stringify writes it as a list.
 */
export class TokenIds extends Int32Array<ArrayBuffer> {
  #growing: Growing | undefined

  /** A copy of the ids, to go on from; throws `bad-option` for anything that is no id. */
  static copy(ids: TokenIdList): TokenIds {
    const growing = {
      values: new Int32Array(ids.length),
      length: 0,
      largest: -1,
      json: Buffer.from("["),
      jsonLength: 1,
      written: 0,
    }
    append(growing, ids)
    return TokenIds.#beginning(growing)
  }

  static #beginning(growing: Growing): TokenIds {
    const ids = new TokenIds(growing.values.buffer, 0, growing.length)
    ids.#growing = growing
    return ids
  }

  /** These ids and then `more`. The first to go on shares the memory; others that go on from the same ids copy it. */
  followedBy(...more: readonly TokenIdList[]): TokenIds {
    if (this.#growing?.length !== this.length) return TokenIds.copy(this).followedBy(...more)
    for (const ids of more) append(this.#growing, ids)
    return TokenIds.#beginning(this.#growing)
  }

  /** Whether all ids are below `size`. */
  areBelow(size: number): boolean {
    // The largest may be one that only later prompts have.
    return (this.#growing?.largest ?? Number.POSITIVE_INFINITY) < size || this.every((id) => id < size)
  }

  /** The JSON of the list as bytes, all but the closing bracket: what goes on from it begins with the same. */
  get openJson(): Uint8Array {
    const growing = this.#growing
    if (growing === undefined || growing.written > this.length) return Buffer.from(JSON.stringify(this).slice(0, -1))
    if (growing.written < this.length) {
      const more = JSON.stringify(listFrom(this, growing.written)).slice(1, -1)
      appendJson(growing, growing.written === 0 ? more : `,${more}`)
      growing.written = this.length
    }
    return growing.json.subarray(0, growing.jsonLength)
  }

  toJSON(): number[] {
    return listFrom(this, 0)
  }
}

/** Array.from asks the iterator for every id, which takes six times as long. */
function listFrom(ids: TokenIds, start: number): number[] {
  const list: number[] = []
  for (let at = start; at < ids.length; at += 1) list.push(ids[at] ?? 0)
  return list
}

/** Checks before anything is changed. */
function append(growing: Growing, ids: TokenIdList): void {
  let { largest } = growing
  for (let index = 0; index < ids.length; index += 1) {
    const id = ids[index] ?? Number.NaN
    if (!isTokenId(id))
      throw new AtroposError(
        "bad-option",
        `token ids must be integers from 0 on, received ${String(id)} at index ${index}`,
      )
    if (id > largest) largest = id
  }
  const length = growing.length + ids.length
  if (length > growing.values.length) {
    const { values } = growing
    growing.values = new Int32Array(length * 2)
    growing.values.set(values.subarray(0, growing.length))
  }
  growing.values.set(ids, growing.length)
  growing.length = length
  growing.largest = largest
}

function appendJson(growing: Growing, text: string): void {
  const { json, jsonLength } = growing
  const length = jsonLength + text.length
  if (length > json.length) {
    growing.json = Buffer.alloc(length * 2)
    growing.json.set(json.subarray(0, jsonLength))
  }
  growing.json.write(text, jsonLength, "latin1")
  growing.jsonLength = length
}

/** The first that is no id of a vocabulary with `size` ids; undefined where all are. */
export function findBadId(ids: TokenIdList, size: number): number | undefined {
  // A long conversation's ids were looked at when they came.
  if (ids instanceof TokenIds && ids.areBelow(size)) return undefined
  for (let index = 0; index < ids.length; index += 1) {
    const id = ids[index]
    if (!isTokenId(id) || id >= size) return id
  }
  return undefined
}

export function isTokenId(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0x7fffffff
}
