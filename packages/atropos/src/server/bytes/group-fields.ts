/** What a field of a group holds; `depth` counts the lists around its numbers. */
export type FieldKind =
  | { kind: "integer" }
  | { kind: "numbers"; of: "integer" | "float"; depth: 1 | 2 | 3; lengths: "rows" | "positions" }
  | { kind: "messages" }
  | { kind: "object" }
  | { kind: "objects" }
  | { kind: "any" }

export interface GroupField {
  name: string
  required: boolean
  is: FieldKind
}

const numbers = (
  of: "integer" | "float",
  depth: 1 | 2 | 3,
  lengths: "rows" | "positions" = "positions",
): FieldKind => ({
  kind: "numbers",
  of,
  depth,
  lengths,
})

/**
 * The fourteen fields of a group, in the order in which those that a producer left out are added as null.
 * `lengths` says what must match `tokens`: the number of rows only, or each row's length as well.
 */
export const groupFields: readonly GroupField[] = [
  { name: "tokens", required: true, is: numbers("integer", 2) },
  { name: "masks", required: true, is: numbers("integer", 2) },
  { name: "scores", required: true, is: numbers("float", 1, "rows") },
  { name: "advantages", required: false, is: numbers("float", 2, "rows") },
  { name: "ref_logprobs", required: false, is: numbers("float", 2) },
  { name: "messages", required: false, is: { kind: "messages" } },
  { name: "generation_params", required: false, is: { kind: "object" } },
  { name: "inference_logprobs", required: false, is: numbers("float", 2) },
  { name: "overrides", required: false, is: { kind: "objects" } },
  { name: "group_overrides", required: false, is: { kind: "object" } },
  { name: "images", required: false, is: { kind: "any" } },
  { name: "env_id", required: false, is: { kind: "integer" } },
  { name: "distill_token_ids", required: false, is: numbers("integer", 3) },
  { name: "distill_logprobs", required: false, is: numbers("float", 3) },
]
