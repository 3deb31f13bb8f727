import { isAtroposError } from "atropos-rl"
import fc from "fast-check"
import { describe, expect, test } from "vitest"

import { decodeWeights, encodeWeights } from "./safetensors.ts"
import { createWeights, drawWeights } from "./weights.ts"

const config = { vocabularySize: 5, width: 4, heads: 2, layers: 1, contextLength: 6 }
const weights = drawWeights(config, 1)

test("weights come back bit for bit, with their version and shape", () => {
  const decoded = decodeWeights(encodeWeights({ weights, version: 12 }))
  expect(decoded.version).toBe(12)
  expect(decoded.weights.config).toEqual(config)
  expect(decoded.weights.flat).toEqual(weights.flat)
})

test("the bytes are a safetensors file as the format describes it", () => {
  const bytes = encodeWeights({ weights, version: 0 })
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true))
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length))) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >
  expect(length % 8).toBe(0)
  const { __metadata__: _, ...tensors } = header
  let end = 0
  for (const tensor of Object.values(tensors)) {
    expect(tensor.dtype).toBe("F32")
    expect(tensor.data_offsets).toEqual([end, end + 4 * tensor.shape.reduce((product, size) => product * size, 1)])
    end = tensor.data_offsets[1]
  }
  expect(bytes.byteLength).toBe(8 + length + end)
  const [start] = tensors["head"]!.data_offsets
  expect(new DataView(bytes.buffer, 8 + length).getFloat32(start, true)).toBe(weights.tensors.get("head")!.data[0])
})

test("bytes at an odd address are read as well", () => {
  const bytes = encodeWeights({ weights, version: 3 })
  const shifted = new Uint8Array(bytes.byteLength + 1)
  shifted.set(bytes, 1)
  expect(decodeWeights(shifted.subarray(1)).weights.flat).toEqual(weights.flat)
})

describe("refused", () => {
  const refusal = (bytes: Uint8Array, expected = config): string => {
    try {
      decodeWeights(bytes, expected)
    } catch (error) {
      if (isAtroposError(error, "bad-weights")) return error.message
      throw error
    }
    return "nothing"
  }

  test("weights of another shape, naming the tensor", () => {
    expect(refusal(encodeWeights({ weights, version: 1 }), { ...config, width: 8 })).toContain(
      "tensor embedding must be F32 [5,8], received F32 [5,4]",
    )
    expect(refusal(encodeWeights({ weights, version: 1 }), { ...config, layers: 2 })).toContain(
      "layers.1.attention.norm",
    )
    const deeper = createWeights({ ...config, layers: 2 })
    expect(refusal(encodeWeights({ weights: deeper, version: 1 }))).toContain("layers.1.attention.norm is none of")
  })

  test("numbers that are not finite", () => {
    const broken = createWeights(config)
    broken.tensors.get("norm")!.data[1] = Number.NaN
    expect(refusal(encodeWeights({ weights: broken, version: 1 }))).toContain("tensor norm holds numbers")
  })

  test("whatever is no such file, always in words", () => {
    const good = encodeWeights({ weights, version: 1 })
    fc.assert(
      fc.property(fc.nat(good.byteLength), fc.uint8Array({ maxLength: 40 }), (at, bytes) => {
        const damaged = new Uint8Array([...good.subarray(0, at), ...bytes])
        if (damaged.byteLength < good.byteLength - 1) expect(refusal(damaged)).toContain("the weights cannot be used")
      }),
    )
  })
})
