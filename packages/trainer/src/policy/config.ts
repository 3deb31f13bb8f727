import { z } from "zod"

/** The shape of the transformer: everything that decides which tensors it has. */
export const policyConfigSchema = z.object({
  vocabularySize: z.int().min(1).describe("token ids"),
  width: z.int().min(2).describe("size of the residual stream"),
  heads: z.int().min(1).describe("attention heads; they share the width equally"),
  layers: z.int().min(1).describe("transformer blocks"),
  contextLength: z.int().min(2).describe("most tokens of a prompt and its answer together"),
})

export type PolicyConfig = z.output<typeof policyConfigSchema>

export interface TensorShape {
  name: string
  shape: readonly number[]
}

/** The tensors of a policy in the order in which they lie in its weights. Linear maps are [inputs, outputs]. */
export function tensorShapes({ vocabularySize, width, layers, contextLength }: PolicyConfig): TensorShape[] {
  const shapes: TensorShape[] = [
    { name: "embedding", shape: [vocabularySize, width] },
    { name: "positions", shape: [contextLength, width] },
  ]
  for (let layer = 0; layer < layers; layer++) {
    shapes.push(
      { name: `layers.${layer}.attention.norm`, shape: [width] },
      { name: `layers.${layer}.attention.qkv`, shape: [width, 3 * width] },
      { name: `layers.${layer}.attention.out`, shape: [width, width] },
      { name: `layers.${layer}.mlp.norm`, shape: [width] },
      { name: `layers.${layer}.mlp.up`, shape: [width, 4 * width] },
      { name: `layers.${layer}.mlp.down`, shape: [4 * width, width] },
    )
  }
  shapes.push({ name: "norm", shape: [width] }, { name: "head", shape: [width, vocabularySize] })
  return shapes
}
