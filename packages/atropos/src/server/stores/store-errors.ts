import { AtroposError } from "../../runtime/errors.ts"

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

export function closedStore(): AtroposError {
  return new AtroposError("store-closed", "The store is closed: it takes no commits and answers no reads any more.")
}
