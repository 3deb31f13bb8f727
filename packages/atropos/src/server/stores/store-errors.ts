import { AtroposError, isAtroposError } from "../../runtime/errors.ts"

export function unknownGroup(groupId: number): AtroposError {
  return new AtroposError(
    "store-no-group",
    `The store holds no group ${groupId}: it was never committed, or it was released and has left the retention limit.`,
    { facts: { groupId } },
  )
}

export function duplicateGroup(groupId: number): AtroposError {
  return new AtroposError(
    "store-duplicate-group",
    `The store holds group ${groupId} already: ids are never used twice in the life of a store.`,
    { facts: { groupId } },
  )
}

/** Which group a read failed for because of what is in the store, not of how it is just now; null for other errors. */
export function damagedGroupOf(error: unknown): number | null {
  if (!isAtroposError(error, "store-damaged") && !isAtroposError(error, "store-no-group")) return null
  const { groupId } = error.facts
  return typeof groupId === "number" ? groupId : null
}

export function closedStore(): AtroposError {
  return new AtroposError("store-closed", "The store is closed: it takes no commits and answers no reads any more.")
}
