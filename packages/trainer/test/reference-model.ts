// The transformer once more, in 64-bit floats and plain loops: what tests compare the fast one with.
import type { Weights } from "../src/policy/weights.ts"

type Vector = number[]

/** Log-probabilities of the next token, [position][token], after each token of one sequence. */
export function referenceLogprobs(weights: Weights, tokens: readonly number[], temperature = 1): Vector[] {
  const { width, heads, layers } = weights.config
  const tensor = (name: string): Float32Array => weights.tensors.get(name)?.data ?? new Float32Array()
  const row = (name: string, index: number): Vector => [...tensor(name).subarray(index * width, (index + 1) * width)]
  let stream = tokens.map((token, position) => add(row("embedding", token), row("positions", position)))
  for (let layer = 0; layer < layers; layer++) {
    const part = (name: string): Float32Array => tensor(`layers.${layer}.${name}`)
    const projected = stream.map((vector) => multiply(normalize(vector, part("attention.norm")), part("attention.qkv")))
    const size = width / heads
    stream = stream.map((vector, position) => {
      const mixed: Vector = []
      for (let head = 0; head < heads; head++) {
        const slice = (place: number, block: number): Vector =>
          (projected[place] ?? []).slice(block * width + head * size, block * width + (head + 1) * size)
        const scores = tokens
          .slice(0, position + 1)
          .map((_, other) => dot(slice(position, 0), slice(other, 1)) / Math.sqrt(size))
        const shares = logSoftmax(scores).map(Math.exp)
        for (let index = 0; index < size; index++) {
          mixed.push(shares.reduce((total, share, other) => total + share * at(slice(other, 2), index), 0))
        }
      }
      return add(vector, multiply(mixed, part("attention.out")))
    })
    stream = stream.map((vector) => {
      const hidden = multiply(normalize(vector, part("mlp.norm")), part("mlp.up")).map(
        (value) => Math.max(0, value) ** 2,
      )
      return add(vector, multiply(hidden, part("mlp.down")))
    })
  }
  return stream.map((vector) =>
    logSoftmax(multiply(normalize(vector, tensor("norm")), tensor("head")).map((logit) => logit / temperature)),
  )
}

function normalize(vector: Vector, weight: Float32Array): Vector {
  const scale = 1 / Math.sqrt(dot(vector, vector) / vector.length + 1e-5)
  return vector.map((value, index) => value * scale * at(weight, index))
}

/** A vector times a matrix of [inputs, outputs]. */
function multiply(vector: Vector, matrix: Float32Array): Vector {
  const outputs = matrix.length / vector.length
  return Array.from({ length: outputs }, (_, output) =>
    vector.reduce((total, value, input) => total + value * at(matrix, input * outputs + output), 0),
  )
}

function logSoftmax(values: Vector): Vector {
  const highest = Math.max(...values)
  const logTotal = highest + Math.log(values.reduce((total, value) => total + Math.exp(value - highest), 0))
  return values.map((value) => value - logTotal)
}

function add(a: Vector, b: Vector): Vector {
  return a.map((value, index) => value + at(b, index))
}

function dot(a: Vector, b: Vector): number {
  return a.reduce((total, value, index) => total + value * at(b, index), 0)
}

function at(values: ArrayLike<number>, index: number): number {
  const value = values[index]
  if (value === undefined) throw new RangeError(`no value ${index} among ${values.length}`)
  return value
}
