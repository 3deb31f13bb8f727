export const TAB: u8 = 0x09
export const SPACE: u8 = 0x20
export const QUOTE: u8 = 0x22
export const COMMA: u8 = 0x2c
export const MINUS: u8 = 0x2d
export const POINT: u8 = 0x2e
export const ZERO: u8 = 0x30
export const COLON: u8 = 0x3a
export const OPEN_LIST: u8 = 0x5b
export const BACKSLASH: u8 = 0x5c
export const CLOSE_LIST: u8 = 0x5d
export const OPEN_OBJECT: u8 = 0x7b
export const CLOSE_OBJECT: u8 = 0x7d

/** `null` and `true` as a little-endian word; `alse` is what follows the f of false. */
export const WORD_NULL: u32 = 0x6c6c756e
export const WORD_TRUE: u32 = 0x65757274
export const WORD_ALSE: u32 = 0x65736c61

export function isDigit(byte: u8): bool {
  return <u8>(byte - ZERO) < 10
}

/** The first byte that is no white space. */
export function skipSpace(position: usize): usize {
  while (true) {
    const byte = load<u8>(position)
    if (byte != SPACE && byte != 0x0a && byte != 0x0d && byte != TAB) return position
    position++
  }
}
