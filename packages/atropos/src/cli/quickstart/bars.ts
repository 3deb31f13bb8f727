const parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const
const heights = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const

/** A value from 0 to 1 as a bar of up to `width` characters, exact to an eighth of one. */
export function bar(value: number, width: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, value)) * width * 8)
  return "█".repeat(Math.floor(eighths / 8)) + (parts[eighths % 8] ?? "")
}

/** Values from 0 to 1 as a curve of at most `width` columns, each the mean of its share of them. */
export function curve(values: readonly number[], width: number): string {
  const columns = Math.min(width, values.length)
  const edge = (column: number): number => Math.floor((column * values.length) / columns)
  return Array.from({ length: columns }, (_, column) => {
    const share = values.slice(edge(column), edge(column + 1))
    const mean = share.reduce((total, value) => total + value, 0) / share.length
    const height = Math.min(heights.length - 1, Math.max(0, Math.floor(mean * heights.length)))
    return heights[height] ?? ""
  }).join("")
}
