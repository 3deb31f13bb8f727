// The trajectory server: what the bytes of pushes and batches cost, and what the length of the queue does.
// `node bench/server.ts [--short]`; each part also runs alone: server/bytes.ts, server/queue.ts.
await import("./server/bytes.ts")
console.log()
await import("./server/queue.ts")
