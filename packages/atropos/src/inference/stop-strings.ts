/** Where the first stop string in a text that may go on, or what may become one, begins; the text's length without any. */
export function lengthBeforeStop(text: string, stops: readonly string[]): number {
  const begins = stops.map((stop) => {
    const whole = text.indexOf(stop)
    if (whole >= 0) return whole
    let at = Math.max(0, text.length - stop.length + 1)
    while (!stop.startsWith(text.slice(at))) at += 1
    return at
  })
  return Math.min(text.length, ...begins)
}
