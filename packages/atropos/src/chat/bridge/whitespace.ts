const space = /\s+/g

export function withoutSpace(text: string): string {
  return text.replace(space, "")
}

/** Whether texts are equal but for white space; texts that begin alike are only compared from there on. */
export function equalButForSpace(one: string, other: string): boolean {
  return one === other || withoutSpace(one) === withoutSpace(other)
}
