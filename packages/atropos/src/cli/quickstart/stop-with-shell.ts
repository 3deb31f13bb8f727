const checkMs = 500

/**
 * Aborts when the shell that a package manager started this process in is gone: the package manager passes SIGTERM
 * on to that shell alone, which dies of it without telling anyone.
 */
export function stopWithShell(environment: Readonly<Record<string, string | undefined>>): AbortSignal {
  const gone = new AbortController()
  if (environment["npm_lifecycle_event"] === undefined) return gone.signal
  const shell = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === shell) return
    clearInterval(timer)
    gone.abort()
  }, checkMs)
  timer.unref()
  return gone.signal
}
