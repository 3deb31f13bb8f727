import { AtroposError } from "./errors.ts"

/** Says what keeps a server from listening; any other error comes back as it is. */
export function explainListenFailure(error: unknown, host: string, port: number): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  if (code === "EADDRINUSE") {
    return new AtroposError(
      "port-taken",
      `Port ${port} on ${host} is taken by another program; choose another with --port, or --port 0 for any free one`,
      { cause: error },
    )
  }
  if (code === "EACCES" || code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return new AtroposError(
      "cannot-listen",
      `The server can not listen on ${host}:${port} (${code}); choose an address of this machine and a port above 1023`,
      { cause: error },
    )
  }
  return error
}
