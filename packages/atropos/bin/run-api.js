#!/usr/bin/env node
// `run-api …` is `atropos run-api …`: the name that scripts of the Python original call.
process.argv.splice(2, 0, "run-api")
await import("./atropos.js")
