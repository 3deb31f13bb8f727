/**
 * The URL of a worker's file beside the calling module: `.ts` when the caller runs from source, `.js` from a build.
 *
 * `workerFile(import.meta.url, "./scan-worker")`
 */
export function workerFile(callerUrl: string, path: string): URL {
  return new URL(path + (callerUrl.endsWith(".ts") ? ".ts" : ".js"), callerUrl)
}
