export { encode } from "./encode"
export { scanGroup } from "./group"
export { inflate, inflateInputEnd, inflateOutputEnd } from "./inflate"
export {
  BUFFERS, CODES_SIZE, CODE_TABLES, FIELDS, FIELD_SIZE, HEADERS, PAIRS, RESULT, SHUFFLES, SINGLES,
} from "./layout"
