import { numpy as np } from "@jax-js/jax"

import type { PolicyConfig } from "./config.ts"
import type { KeysAndValues } from "./model.ts"

interface HostLayer {
  keys: Float32Array
  values: Float32Array
}

/** Keys and values of all layers, [rows, positions, width] each, that grow with what is asked of them. */
export class KeyValueCache {
  readonly #config: PolicyConfig
  readonly #layers: { keys: Float32Array<ArrayBuffer>; values: Float32Array<ArrayBuffer> }[]
  #rows = 0
  #positions = 0

  constructor(config: PolicyConfig) {
    this.#config = config
    this.#layers = Array.from({ length: config.layers }, () => ({
      keys: new Float32Array(0),
      values: new Float32Array(0),
    }))
  }

  /** Makes room for `rows` of `positions`; keeps what the first `used` rows hold. */
  reserve(rows: number, positions: number, used: number): void {
    const wanted = Math.min(powerOfTwo(positions), this.#config.contextLength)
    // Every step costs as much as the longest row: an empty cache goes back to what is wanted now.
    const newPositions = used === 0 ? wanted : Math.max(this.#positions, wanted)
    const newRows = Math.max(this.#rows, powerOfTwo(rows))
    if (newRows === this.#rows && newPositions === this.#positions) return
    const { width } = this.#config
    const grow = (old: Float32Array): Float32Array<ArrayBuffer> => {
      const grown = new Float32Array(newRows * newPositions * width)
      for (let row = 0; row < used; row++) {
        const from = row * this.#positions * width
        grown.set(old.subarray(from, from + this.#positions * width), row * newPositions * width)
      }
      return grown
    }
    for (const layer of this.#layers) {
      layer.keys = grow(layer.keys)
      layer.values = grow(layer.values)
    }
    this.#rows = newRows
    this.#positions = newPositions
  }

  /** Puts `count` positions of `source` (from its position `sourceStart`, over all its rows) at `position` of `row`. */
  write(row: number, position: number, count: number, source: readonly HostLayer[], sourceStart: number): void {
    const { width } = this.#config
    const to = (row * this.#positions + position) * width
    for (const [index, { keys, values }] of this.#layers.entries()) {
      const part = source[index]
      if (part === undefined) continue
      // A loop: for one position, making views to `set` from costs more than the copy.
      for (let offset = 0, from = sourceStart * width; offset < count * width; offset++, from++) {
        keys[to + offset] = part.keys[from] ?? 0
        values[to + offset] = part.values[from] ?? 0
      }
    }
  }

  move(from: number, to: number, count: number): void {
    const { width } = this.#config
    const stride = this.#positions * width
    for (const { keys, values } of this.#layers) {
      keys.copyWithin(to * stride, from * stride, from * stride + count * width)
      values.copyWithin(to * stride, from * stride, from * stride + count * width)
    }
  }

  /** The first `rows` rows for the model: [rows, positions, heads, head size]. */
  toArrays(rows: number): KeysAndValues[] {
    this.reserve(rows, this.#positions, Math.min(this.#rows, rows))
    const { width, heads } = this.#config
    const shape = [rows, this.#positions, heads, width / heads]
    const size = rows * this.#positions * width
    return this.#layers.map(({ keys, values }) => ({
      keys: np.array(keys.subarray(0, size), { shape }),
      values: np.array(values.subarray(0, size), { shape }),
    }))
  }
}

function powerOfTwo(least: number): number {
  return Math.max(16, 2 ** Math.ceil(Math.log2(Math.max(1, least))))
}
