/** Where the next byte of canonical JSON goes. Up to 64 bytes behind it may hold rubbish. */
export let out: usize = 0

export function setOut(position: usize): void {
  out = position
}

// @ts-ignore: decorators are AssemblyScript's
@inline
export function put(byte: u8): void {
  store<u8>(out, byte)
  out++
}

/** At most 32 bytes; it may write up to 32. */
// @ts-ignore
@inline
export function putShort(from: usize, length: usize): void {
  v128.store(out, v128.load(from))
  v128.store(out, v128.load(from, 16), 16)
  out += length
}

export function putLong(from: usize, length: usize): void {
  if (length > 32) {
    memory.copy(out, from, length)
    out += length
  } else putShort(from, length)
}
