import { pathTo, type ConversationNode } from "./conversation-node.ts"

/** Whether an answer that several sequences hold is trained on in the first of them only, or in all. */
export type SharedPolicy = "once" | "each"

/** One training sequence: a path of samples, and those of them that are trained on in it. */
export interface TrainingPath<Facts> {
  path: readonly ConversationNode<Facts>[]
  trained: ReadonlySet<ConversationNode<Facts>>
}

/** The paths to all leaves, in the order of the leaves. */
export function trainingPaths<Facts>(
  nodes: readonly ConversationNode<Facts>[],
  shared: SharedPolicy,
): TrainingPath<Facts>[] {
  const taken = new Set<ConversationNode<Facts>>()
  return nodes
    .filter(({ children }) => children.length === 0)
    .map((leaf) => {
      const path = pathTo(leaf)
      const trained = new Set(shared === "each" ? path : path.filter((node) => !taken.has(node)))
      for (const node of path) taken.add(node)
      return { path, trained }
    })
}

/** A path to every sample, which is all that is trained on in it: for credit by single answers. */
export function answerPaths<Facts>(nodes: readonly ConversationNode<Facts>[]): TrainingPath<Facts>[] {
  return nodes.map((node) => ({ path: pathTo(node), trained: new Set([node]) }))
}
