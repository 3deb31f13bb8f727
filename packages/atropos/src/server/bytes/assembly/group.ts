// One group: its keys in any order, each once and spelled without escapes, and what must match `tokens` in length.
// Whatever is not plainly right is left to the slow path, by answering 0.
import {
  CLOSE_LIST, CLOSE_OBJECT, COLON, COMMA, isDigit, OPEN_LIST, OPEN_OBJECT, QUOTE, skipSpace, WORD_NULL, ZERO,
} from "./characters"
import { forgetKeys, messageKeys, scanAny, scanObject } from "./free-form"
import { FIELDS, FIELD_SIZE, LENGTHS, MAX_ROWS, RESULT, ROWS } from "./layout"
import { rowLength, scanFloats, scanIntegers } from "./numbers"
import { out, put, putShort, setOut } from "./output"

const FIELD_COUNT: u32 = 14
const TOKENS: u32 = 0

// Kinds of fields, as the host writes them.
const KIND_INTEGER: u8 = 0
const KIND_INTEGERS: u8 = 1
const KIND_FLOATS: u8 = 2
const KIND_MESSAGES: u8 = 3
const KIND_OBJECT: u8 = 4
const KIND_OBJECTS: u8 = 5

// A field in memory, a byte each: the length of its key, its kind, its depth, whether it is required, whether its rows
// are as long as those of tokens. Then its key; at 32 the length of `,"key":null`, and that.
// @ts-ignore: decorators are AssemblyScript's
@inline
function field(index: u32): usize {
  return FIELDS + <usize>index * FIELD_SIZE
}

// @ts-ignore
@inline
function lengthsOf(index: u32): usize {
  return LENGTHS + <usize>index * 4 * MAX_ROWS
}

/** How many rows a field has, -1 when it has none of that kind or was not sent. */
// @ts-ignore
@inline
function rowsOf(index: u32): i32 {
  return load<i32>(ROWS + (<usize>index << 2))
}

// @ts-ignore
@inline
function setRows(index: u32, count: i32): void {
  store<i32>(ROWS + (<usize>index << 2), count)
}

let envId: f64 = -1

/** Scans the group at `position` and writes its canonical form to `output`. The position behind it, or 0. */
export function scanGroup(position: usize, output: usize): usize {
  setOut(output)
  forgetKeys()
  envId = -1
  for (let index: u32 = 0; index < FIELD_COUNT; index++) setRows(index, -1)
  if (load<u8>(position) != OPEN_OBJECT) return 0
  put(OPEN_OBJECT)
  position = skipSpace(position + 1)
  let seen: u32 = 0
  while (true) {
    const index = matchKey(position)
    if (index == FIELD_COUNT || (seen & (1 << index)) != 0) return 0
    seen |= 1 << index
    const quoted = <usize>load<u8>(field(index)) + 2
    putShort(position, quoted)
    position = skipSpace(position + quoted)
    if (load<u8>(position) != COLON) return 0
    put(COLON)
    position = scanField(index, skipSpace(position + 1))
    if (position == 0) return 0
    position = skipSpace(position)
    const next = load<u8>(position)
    if (next == CLOSE_OBJECT) break
    if (next != COMMA) return 0
    put(COMMA)
    position = skipSpace(position + 1)
  }
  if (!lengthsMatch()) return 0
  for (let index: u32 = 0; index < FIELD_COUNT; index++) {
    if ((seen & (1 << index)) != 0) continue
    if (load<u8>(field(index), 3) != 0) return 0
    putShort(field(index) + 33, load<u8>(field(index), 32))
  }
  put(CLOSE_OBJECT)
  let tokens: f64 = 0
  const rows = rowsOf(TOKENS)
  for (let row: i32 = 0; row < rows; row++) tokens += <f64>load<u32>(lengthsOf(TOKENS) + (<usize>row << 2))
  store<u32>(RESULT, <u32>(out - output))
  store<u32>(RESULT, rows, 4)
  store<f64>(RESULT, tokens, 8)
  store<f64>(RESULT, envId, 16)
  return position + 1
}

/** The field whose quoted key stands here, FIELD_COUNT when there is none. */
function matchKey(position: usize): u32 {
  if (load<u8>(position) != QUOTE) return FIELD_COUNT
  for (let index: u32 = 0; index < FIELD_COUNT; index++) {
    const length = <usize>load<u8>(field(index))
    if (load<u8>(position + length + 1) != QUOTE) continue
    let at: usize = 0
    while (at < length && load<u8>(position + 1 + at) == load<u8>(field(index) + 5 + at)) at++
    if (at == length) return index
  }
  return FIELD_COUNT
}

function scanField(index: u32, position: usize): usize {
  const required = load<u8>(field(index), 3) != 0
  if (!required && load<u32>(position) == WORD_NULL) {
    store<u32>(out, WORD_NULL)
    setOut(out + 4)
    return position + 4
  }
  const kind = load<u8>(field(index), 1)
  if (kind == KIND_INTEGERS || kind == KIND_FLOATS) {
    return scanNumbers(index, position, kind == KIND_INTEGERS, load<u8>(field(index), 2))
  }
  if (kind == KIND_INTEGER) return scanEnvId(position)
  if (kind == KIND_MESSAGES) return scanMessages(position)
  if (kind == KIND_OBJECT) return scanObject(position, 1)
  if (kind == KIND_OBJECTS) return scanObjects(position)
  return scanAny(position, 1)
}

/** An id as an env has it: no sign, few digits. */
function scanEnvId(position: usize): usize {
  let end = position
  let value: f64 = 0
  while (isDigit(load<u8>(end))) {
    value = value * 10 + <f64>(load<u8>(end) - ZERO)
    end++
  }
  const length = end - position
  if (length == 0 || length > 15 || (length > 1 && load<u8>(position) == ZERO)) return 0
  putShort(position, length)
  envId = value
  return end
}

/** How many entries the last list had. */
let listLength: u32 = 0

/** A list whose entries `scanEntry` takes. */
function scanList(position: usize, scanEntry: (position: usize) => usize): usize {
  if (load<u8>(position) != OPEN_LIST) return 0
  put(OPEN_LIST)
  position = skipSpace(position + 1)
  let count: u32 = 0
  if (load<u8>(position) != CLOSE_LIST) {
    while (true) {
      position = scanEntry(position)
      if (position == 0) return 0
      count++
      position = skipSpace(position)
      const next = load<u8>(position)
      if (next == CLOSE_LIST) break
      if (next != COMMA) return 0
      put(COMMA)
      position = skipSpace(position + 1)
    }
  }
  put(CLOSE_LIST)
  listLength = count
  return position + 1
}

function scanObjects(position: usize): usize {
  return scanList(position, (entry: usize): usize => scanObject(entry, 2))
}

function scanMessages(position: usize): usize {
  return scanList(position, scanConversation)
}

/** The messages of one sequence, each with role and content. */
function scanConversation(position: usize): usize {
  return scanList(position, (message: usize): usize => {
    const end = scanObject(message, 3)
    return messageKeys == 3 ? end : 0
  })
}

/** The field whose numbers are taken. */
let current: u32 = 0
let rows: u32 = 0

/** Lists of numbers, `depth` lists deep; notes how many rows there are and how long each is. */
function scanNumbers(index: u32, position: usize, integers: bool, depth: u8): usize {
  current = index
  rows = 0
  if (depth == 1) {
    position = integers ? scanIntegers(position) : scanFloats(position)
    rows = rowLength
  } else if (depth == 2) position = scanList(position, integers ? integerRow : floatRow)
  else position = scanList(position, integers ? integerPositions : floatPositions)
  if (rows > MAX_ROWS) return 0
  setRows(index, rows)
  return position
}

function integerRow(position: usize): usize {
  return noteRow(scanIntegers(position), rowLength)
}

function floatRow(position: usize): usize {
  return noteRow(scanFloats(position), rowLength)
}

function integerPositions(position: usize): usize {
  return noteRow(scanList(position, scanIntegers), listLength)
}

function floatPositions(position: usize): usize {
  return noteRow(scanList(position, scanFloats), listLength)
}

function noteRow(end: usize, length: u32): usize {
  if (rows == MAX_ROWS) return 0
  store<u32>(lengthsOf(current) + (<usize>rows << 2), length)
  rows++
  return end
}

function lengthsMatch(): bool {
  const rows = rowsOf(TOKENS)
  if (rows <= 0) return false
  for (let index: u32 = 1; index < FIELD_COUNT; index++) {
    const own = rowsOf(index)
    if (own < 0 || (own == 0 && load<u8>(field(index), 3) == 0)) continue
    if (own != rows) return false
    if (load<u8>(field(index), 4) == 0) continue
    for (let row: usize = 0; row < <usize>rows; row++) {
      if (load<u32>(lengthsOf(index) + (row << 2)) != load<u32>(lengthsOf(TOKENS) + (row << 2))) return false
    }
  }
  return true
}
