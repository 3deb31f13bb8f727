// Loaded into each part before anything else (`node --import`): when the process that started the part is gone,
// however it went, the channel between the two closes, and the part ends as it would at SIGTERM.
const graceMs = 5000

process.on("disconnect", () => {
  process.kill(process.pid, "SIGTERM")
  setTimeout(() => process.exit(1), graceMs).unref()
})
// Listening must not keep the part alive.
process.channel?.unref()
