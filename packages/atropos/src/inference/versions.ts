import type { VersionSpan } from "./inference-server.ts"

/** The number a version's name ends on (`"step-12"` → 12); 0 for a name without one, such as the first, `"default"`. */
export function versionNumber(label: string): number {
  const digits = /(\d+)$/.exec(label)?.[1]
  return digits === undefined ? 0 : Number(digits)
}

/** The spans of a server's answer; `undefined` or `null` where it does not say. */
export function readVersionSpans(
  spans: readonly { version: string | number; start: number; end: number }[] | null | undefined,
): VersionSpan[] {
  return (spans ?? []).map(({ version, start, end }) => {
    const label = String(version)
    const number = versionNumber(label)
    return String(number) === label ? { version: number, start, end } : { version: number, start, end, label }
  })
}
