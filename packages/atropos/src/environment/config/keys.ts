/** `maxTokenLength` → `max_token_length`; snake_case stays. The one spelling by which keys are compared. */
export function toSnake(key: string): string {
  return key.replaceAll("-", "_").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Keys of an object of configuration in the snake_case of files and flags. */
export function withSnakeKeys(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [toSnake(key), value]))
}
