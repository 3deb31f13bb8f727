// Writes the model stub's tokenizer: byte-level BPE over a few pages of our own words.
// node scripts/generate-stub-tokenizer.ts [--check]
import { readFileSync, writeFileSync } from "node:fs"

import { bpeTokenizerJson } from "../packages/trainer/src/policy/bpe-tokenizer-json.ts"

const merges = 500
const specialTokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
const target = new URL("../packages/atropos/src/inference/stub/tokenizer/tokenizer-json.ts", import.meta.url)

const nouns =
  "answer question number word letter list sum product item step group score batch token prompt policy trainer server environment reward rollout message user assistant system tool function call result name value key text line page table tree river mountain city house door window garden bread water apple orange lemon paper pencil book story game move board piece king rook queen knight bishop pawn card coin dice road bridge train ship engine wheel light shadow colour sound music song morning evening night day week month year hour minute second winter summer spring autumn rain snow wind cloud sun moon star"
const verbs =
  "is are was were be has have had do does did say says said think thinks know knows find finds found give gives gave take takes took make makes made go goes went see sees saw count counts add adds subtract divide multiply check checks compare compares read reads write writes ask asks show shows choose chooses start starts stop stops follow follows need needs want wants use uses try tries call calls return returns"
const small =
  "the a an and or but not if then else so because when while where which who what why how that this these those it its they them their we our you your he she his her I me my of in on at to from with without for by as into over under between before after first last next each every all some any no none more less most least only also again still just very much many few one two three four five six seven eight nine ten hundred thousand yes no true false right wrong"
const adjectives =
  "small large long short high low new old good better best bad worse worst red green blue yellow black white warm cold dry wet fast slow early late open closed full empty simple plain correct exact equal different same other whole half double"

/** A page of sentences that go round through the word lists, so that common pairs are common here too. */
function writeCorpus(): string {
  const [n, v, s, a] = [nouns, verbs, small, adjectives].map((list) => list.split(" "))
  const pick = (list: string[] | undefined, index: number): string => list?.[index % list.length] ?? ""
  const sentences: string[] = []
  for (let i = 0; i < 420; i++) {
    const noun = pick(n, i * 7)
    const other = pick(n, i * 11 + 5)
    const sentence = `The ${pick(a, i * 3)} ${noun} ${pick(v, i * 5)} ${pick(s, i)} ${other} ${pick(s, i * 13 + 4)} the ${pick(a, i * 17 + 1)} ${pick(n, i * 19 + 3)}.`
    sentences.push(sentence, ` ${pick(s, i * 2)} ${pick(v, i)} ${noun}s, ${pick(s, i * 3)} ${other}.\n`)
  }
  const dialogue =
    'system\nuser\nassistant\ntool\n<tool_call>\n{"name": "search", "arguments": {"query": "river"}}\n</tool_call>\n<think>\nLet me think about it.\n</think>\n\nThe answer is 7.\nWhat is 2 + 3? 2 + 3 = 5\n'
  return sentences.join("") + dialogue.repeat(30)
}

/** The table of byte-level BPE: printable bytes stand for themselves, the others for characters from U+0100 on. */
function byteCharacters(): string[] {
  const table: string[] = []
  let next = 256
  for (let byte = 0; byte < 256; byte++) {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    table.push(String.fromCodePoint(printable ? byte : next++))
  }
  return table
}

const wordPattern = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu

function train(corpus: string, characters: readonly string[]): [string, string][] {
  const counts = new Map<string, number>()
  for (const [word] of corpus.matchAll(wordPattern)) counts.set(word, (counts.get(word) ?? 0) + 1)
  const words = [...counts].map(([word, count]) => ({
    count,
    pieces: [...Buffer.from(word)].map((byte) => characters[byte] ?? ""),
  }))
  const learned: [string, string][] = []
  while (learned.length < merges) {
    const pairs = new Map<string, number>()
    for (const { count, pieces } of words) {
      for (let i = 1; i < pieces.length; i++) {
        const pair = `${pieces[i - 1]} ${pieces[i]}`
        pairs.set(pair, (pairs.get(pair) ?? 0) + count)
      }
    }
    // Ties by spelling, so that every run writes the same file.
    const best = [...pairs].toSorted((x, y) => y[1] - x[1] || (x[0] < y[0] ? -1 : 1))[0]?.[0]
    if (best === undefined) break
    const [left = "", right = ""] = best.split(" ")
    learned.push([left, right])
    for (const word of words) {
      for (let i = 1; i < word.pieces.length; i++) {
        if (word.pieces[i - 1] === left && word.pieces[i] === right) word.pieces.splice(i - 1, 2, left + right)
      }
    }
  }
  return learned
}

const characters = byteCharacters()
const learned = train(writeCorpus(), characters)
const tokens = [...characters, ...learned.map(([left, right]) => left + right)]
const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true }
const tokenizer = bpeTokenizerJson({
  specialTokens,
  tokens,
  merges: learned,
  unknownToken: null,
  preTokenizer: byteLevel,
  decoder: byteLevel,
})
// As the formatter would write it.
const literal = `'${JSON.stringify(tokenizer).replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`
const source = `// Written by scripts/generate-stub-tokenizer.ts.
/** The model stub's \`tokenizer.json\`, as text. */
export const stubTokenizerJson: string =
  ${literal}
`
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== source) {
    console.error("the stub's tokenizer is not what scripts/generate-stub-tokenizer.ts writes; run it")
    process.exit(1)
  }
} else {
  writeFileSync(target, source)
  console.log(`${specialTokens.length + tokens.length} tokens`)
}
