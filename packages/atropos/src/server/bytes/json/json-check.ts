/** Text that is no JSON: where, in bytes from the start, and what stood there. */
export class JsonSyntaxError extends Error {
  readonly position: number
  constructor(position: number, message: string) {
    super(message)
    this.position = position
  }
}

/** JSON that goes beyond a bound of this server: too deep, or an integer with too many digits. */
export class JsonBoundError extends Error {}

/** Digits an integer may have; the Python reference has the same bound. */
export const maxIntegerDigits = 4300

const array = 1
const object = 2

/**
 * Checks that the bytes are one JSON value by Python's rules: `NaN`, `Infinity` and `-Infinity` are values, so that
 * whoever reads them can name the place. UTF-8 is the caller's to check. Code behind this assumes well-formed text.
 */
export function checkJson(bytes: Uint8Array, nesting: number): void {
  const containers = new Uint8Array(nesting + 1)
  let depth = 0
  let position = skipSpace(bytes, 0)
  for (;;) {
    // One value starts here.
    const byte = bytes[position]
    let opened = false
    if (byte === 0x5b || byte === 0x7b) {
      if (depth === nesting) {
        throw new JsonBoundError(
          `The JSON is nested deeper than ${nesting} levels at byte ${position}; flatten it or raise the server's limit on nesting`,
        )
      }
      const kind = byte === 0x5b ? array : object
      depth += 1
      containers[depth] = kind
      position = skipSpace(bytes, position + 1)
      if (bytes[position] === (kind === array ? 0x5d : 0x7d)) {
        position += 1
        depth -= 1
      } else {
        if (kind === object) position = checkKey(bytes, position)
        opened = true
      }
    } else if (byte === 0x22) position = checkString(bytes, position)
    else position = checkScalar(bytes, position)
    if (opened) continue

    // A value ended: close what closes, until another value starts.
    for (;;) {
      position = skipSpace(bytes, position)
      if (depth === 0) {
        if (position < bytes.length) throw new JsonSyntaxError(position, "Extra data after the JSON value")
        return
      }
      const next = bytes[position]
      const kind = containers[depth]
      if (next === 0x2c) {
        position = skipSpace(bytes, position + 1)
        if (kind === object) position = checkKey(bytes, position)
        break
      }
      if (next !== (kind === array ? 0x5d : 0x7d)) {
        throw new JsonSyntaxError(position, kind === array ? "Expecting ',' or ']'" : "Expecting ',' or '}'")
      }
      position += 1
      depth -= 1
    }
  }
}

/** The first byte at or after `position` that is no white space. */
export function skipSpace(bytes: Uint8Array, position: number): number {
  for (;;) {
    const byte = bytes[position]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return position
    position += 1
  }
}

function checkKey(bytes: Uint8Array, position: number): number {
  if (bytes[position] !== 0x22) {
    throw new JsonSyntaxError(position, "Expecting a property name in double quotes")
  }
  position = skipSpace(bytes, checkString(bytes, position))
  if (bytes[position] !== 0x3a) throw new JsonSyntaxError(position, "Expecting ':'")
  return skipSpace(bytes, position + 1)
}

function checkString(bytes: Uint8Array, start: number): number {
  let position = start + 1
  for (;;) {
    const byte = bytes[position]
    if (byte === undefined) throw new JsonSyntaxError(start, "Unterminated string")
    if (byte === 0x22) return position + 1
    if (byte === 0x5c) {
      const escaped = bytes[position + 1]
      if (escaped === 0x75) {
        for (let digit = 2; digit < 6; digit += 1) {
          if (!isHexDigit(bytes[position + digit])) throw new JsonSyntaxError(position, "Invalid \\uXXXX escape")
        }
        position += 6
        continue
      }
      if (escaped === undefined || !isSimpleEscape(escaped)) throw new JsonSyntaxError(position, "Invalid escape")
      position += 2
      continue
    }
    if (byte < 0x20) throw new JsonSyntaxError(position, "Invalid control character in a string")
    position += 1
  }
}

function isSimpleEscape(byte: number): boolean {
  // " \ / b f n r t
  return (
    byte === 0x22 ||
    byte === 0x5c ||
    byte === 0x2f ||
    byte === 0x62 ||
    byte === 0x66 ||
    byte === 0x6e ||
    byte === 0x72 ||
    byte === 0x74
  )
}

function isHexDigit(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66))
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

function checkScalar(bytes: Uint8Array, start: number): number {
  switch (bytes[start] ?? 0) {
    case 0x74:
      return checkWord(bytes, start, "true")
    case 0x66:
      return checkWord(bytes, start, "false")
    case 0x6e:
      return checkWord(bytes, start, "null")
    case 0x4e:
      return checkWord(bytes, start, "NaN")
    case 0x49:
      return checkWord(bytes, start, "Infinity")
    default:
      return checkNumber(bytes, start)
  }
}

function checkWord(bytes: Uint8Array, start: number, word: string): number {
  for (let index = 0; index < word.length; index += 1) {
    if (bytes[start + index] !== word.charCodeAt(index)) throw new JsonSyntaxError(start, "Expecting a value")
  }
  return start + word.length
}

function checkNumber(bytes: Uint8Array, start: number): number {
  let position = start
  if (bytes[position] === 0x2d) {
    position += 1
    if (bytes[position] === 0x49) return checkWord(bytes, position, "Infinity")
  }
  const firstDigit = position
  if (!isDigit(bytes[position])) throw new JsonSyntaxError(start, "Expecting a value")
  if (bytes[position] === 0x30) position += 1
  else while (isDigit(bytes[position])) position += 1
  const integerEnd = position
  if (bytes[position] === 0x2e) {
    if (!isDigit(bytes[position + 1])) throw new JsonSyntaxError(position, "Expecting a digit after '.'")
    position += 1
    while (isDigit(bytes[position])) position += 1
  }
  if (bytes[position] === 0x65 || bytes[position] === 0x45) {
    let exponent = position + 1
    if (bytes[exponent] === 0x2b || bytes[exponent] === 0x2d) exponent += 1
    if (!isDigit(bytes[exponent])) throw new JsonSyntaxError(position, "Expecting a digit in the exponent")
    position = exponent
    while (isDigit(bytes[position])) position += 1
  }
  if (position === integerEnd && integerEnd - firstDigit > maxIntegerDigits) {
    throw new JsonBoundError(
      `An integer at byte ${start} has ${integerEnd - firstDigit} digits; at most ${maxIntegerDigits} are taken`,
    )
  }
  return position
}
