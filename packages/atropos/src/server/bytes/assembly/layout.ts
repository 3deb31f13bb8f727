// Where things lie in memory. The host writes the field table and the input; see ../wasm/memory.ts, which must agree.

/** Fields of a group: 64 bytes each, see field(). */
export const FIELDS: usize = 0x1000
export const FIELD_SIZE: usize = 64
/** What a scan found, for the host. */
export const RESULT: usize = 0x1800
/** How many rows each field has. */
export const ROWS: usize = 0x1840
/** For each 8-bit mask of blanks: the shuffle that moves the other bytes together. */
export const SHUFFLES: usize = 0x2000
/** Hashes of the keys of open objects. */
export const HASHES: usize = 0x3000
/** Row lengths, one table for each field. */
export const LENGTHS: usize = 0x10000
export const MAX_ROWS: u32 = 65_536
/** Two sets of codes, for numbers and for text. */
export const CODE_TABLES: usize = LENGTHS + 14 * 4 * 65_536
/** In a set: for each two bytes the codes of both and, from bit 26 on, their bits. */
export const PAIRS: usize = 0
/** The same for single symbols: the literals, 256 for the end of a block, 285 and 286 for copies from 4 and 5 back. */
export const SINGLES: usize = 4 * 65_536
/** The bits that announce the codes: how many, then they. */
export const HEADERS: usize = SINGLES + 4 * 512
export const CODES_SIZE: usize = HEADERS + 512
/** Decoding tables of a deflate block with their subtables, and what they are built from. */
export const LITERAL_TABLE: usize = CODE_TABLES + 2 * CODES_SIZE
export const DISTANCE_TABLE: usize = LITERAL_TABLE + 4 * 4096
export const CODE_LENGTHS: usize = DISTANCE_TABLE + 4 * 2048
export const SORTED_SYMBOLS: usize = CODE_LENGTHS + 512
/** From here on the host puts input, output and segments. */
export const BUFFERS: usize = SORTED_SYMBOLS + 1024
