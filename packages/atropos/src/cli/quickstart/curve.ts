const blocks = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const

/** Values from 0 to 1 as one line of at most `width` bars, each the mean of its share of them. */
export function curve(values: readonly number[], width: number): string {
  const bars = Math.min(width, values.length)
  return Array.from({ length: bars }, (_, bar) => {
    const part = values.slice(Math.floor((bar * values.length) / bars), Math.floor(((bar + 1) * values.length) / bars))
    const mean = part.reduce((total, value) => total + value, 0) / part.length
    return blocks[Math.min(blocks.length - 1, Math.max(0, Math.floor(mean * blocks.length)))] ?? ""
  }).join("")
}
