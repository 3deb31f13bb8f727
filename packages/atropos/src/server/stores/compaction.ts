const leastEventBytes = 4 * 1024 * 1024

/**
 * Whether a snapshot is worth taking: the events since the last one are many and weigh more than it did. So
 * snapshots of a growing queue get rarer, their cost stays a constant share of the log's, and recovery reads
 * at most about twice the snapshot.
 */
export function isCompactionDue(eventBytes: number, snapshotBytes: number): boolean {
  return eventBytes > Math.max(leastEventBytes, snapshotBytes)
}
