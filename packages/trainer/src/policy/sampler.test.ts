import { afterEach, describe, expect, test } from "vitest"

import { referenceLogprobs } from "../../test/reference-model.ts"
import type { Policy, Sample, SampleRequest } from "./policy.ts"
import { createSampler, type SamplerOptions } from "./sampler.ts"
import { drawWeights, type Weights } from "./weights.ts"

const config = { vocabularySize: 11, width: 16, heads: 2, layers: 2, contextLength: 48 }

const policies: Policy[] = []
afterEach(async () => {
  for (const policy of policies.splice(0)) await policy.close()
})

function loudWeights(seed: number): Weights {
  const weights = drawWeights(config, seed)
  for (let index = 0; index < weights.flat.length; index++) weights.flat[index]! *= 2
  return weights
}

async function start(options: Partial<SamplerOptions> = {}): Promise<Policy> {
  const policy = await createSampler({ weights: loudWeights(1), seed: 5, maxRows: 16, ...options })
  policies.push(policy)
  return policy
}

function request(fields: Partial<SampleRequest> = {}): SampleRequest {
  return {
    prompt: [1, 2, 3],
    n: 1,
    maxTokens: 8,
    temperature: 1,
    topP: 1,
    topK: 0,
    minP: 0,
    stopTokenIds: new Set(),
    ...fields,
  }
}

async function sampleOne(policy: Policy, fields: Partial<SampleRequest> = {}): Promise<Sample> {
  const [sample] = await policy.sample(request(fields))
  return sample!
}

function expectTrueLogprobs(weights: Weights, prompt: readonly number[], sample: Sample): void {
  const fresh = referenceLogprobs(weights, [...prompt, ...sample.tokenIds])
  for (const [index, token] of sample.tokenIds.entries()) {
    expect(sample.logprobs[index], `token ${index}`).toBeCloseTo(fresh[prompt.length + index - 1]![token]!, 4)
  }
}

describe("logprobs", () => {
  test("are those of a fresh forward pass, for samples of all lengths that come and go together", async () => {
    const policy = await start()
    const requests = Array.from({ length: 12 }, (_, index) =>
      request({
        prompt: Array.from({ length: 1 + ((index * 5) % 19) }, (_, position) => (index + 3 * position) % 11),
        n: 1 + (index % 4),
        maxTokens: 3 + ((index * 7) % 21),
        stopTokenIds: new Set(index % 2 === 0 ? [4] : []),
        temperature: index % 3 === 0 ? 0.7 : 1,
      }),
    )
    const answers = await Promise.all(requests.map((one) => policy.sample(one)))
    for (const [index, samples] of answers.entries()) {
      const { prompt, n, maxTokens } = requests[index]!
      expect(samples).toHaveLength(n)
      for (const sample of samples) {
        expectTrueLogprobs(policy.weights, prompt, sample)
        expect(sample.logprobs).toHaveLength(sample.tokenIds.length)
        if (sample.finishReason === "length") expect(sample.tokenIds).toHaveLength(maxTokens)
        else expect(sample.tokenIds.at(-1)).toBe(4)
      }
    }
  })

  test("come with the likeliest alternatives in order, when asked for", async () => {
    const policy = await start()
    const sample = await sampleOne(policy, { alternatives: 3 })
    const [first] = sample.alternatives
    const fresh = referenceLogprobs(policy.weights, [1, 2, 3])[2]!
    const best = [...fresh.keys()].toSorted((a, b) => fresh[b]! - fresh[a]!).slice(0, 3)
    expect(first!.map(({ tokenId }) => tokenId)).toEqual(best)
    expect(first![0]!.logprob).toBeCloseTo(fresh[best[0]!]!, 4)
  })
})

describe("a seed", () => {
  test("fixes the samples, whatever else is drawn beside them", async () => {
    const policy = await start()
    const alone = await policy.sample(request({ seed: 3, n: 4 }))
    const crowd = Promise.all(
      Array.from({ length: 9 }, (_, index) => policy.sample(request({ prompt: [index], n: 3 }))),
    )
    const beside = await policy.sample(request({ seed: 3, n: 4 }))
    await crowd
    expect(beside.map(({ tokenIds }) => tokenIds)).toEqual(alone.map(({ tokenIds }) => tokenIds))
    expect(new Set(alone.map(({ tokenIds }) => tokenIds.join())).size).toBeGreaterThan(1)
  })

  test("of the policy fixes those of requests without one, in their order", async () => {
    const draw = async (): Promise<number[][]> => {
      const policy = await start()
      return [(await sampleOne(policy)).tokenIds, (await sampleOne(policy)).tokenIds]
    }
    const [first, second] = [await draw(), await draw()]
    expect(second).toEqual(first)
    expect(first[1]).not.toEqual(first[0])
  })
})

test("temperature 0 takes the likeliest token each time", async () => {
  const policy = await start()
  const sample = await sampleOne(policy, { temperature: 0, maxTokens: 5 })
  const fresh = referenceLogprobs(policy.weights, [1, 2, 3, ...sample.tokenIds])
  const best = sample.tokenIds.map((_, index) => fresh[2 + index]!.indexOf(Math.max(...fresh[2 + index]!)))
  expect(sample.tokenIds).toEqual(best)
})

describe("a sample ends", () => {
  test("at a stop token, which is part of it", async () => {
    const policy = await start()
    const [free] = await policy.sample(request({ seed: 1 }))
    const stop = free!.tokenIds[2]!
    const [stopped] = await policy.sample(request({ seed: 1, stopTokenIds: new Set([stop]) }))
    const end = free!.tokenIds.indexOf(stop) + 1
    expect(stopped).toMatchObject({ tokenIds: free!.tokenIds.slice(0, end), finishReason: "stop", stopReason: stop })
  })

  test("at no stop token before its least number of tokens", async () => {
    const policy = await start()
    const stopTokenIds = new Set([0, 1, 2, 3, 4, 5, 6, 7, 8])
    const sample = await sampleOne(policy, { stopTokenIds, minTokens: 4 })
    expect(sample.tokenIds.length).toBeGreaterThan(4)
    expect(sample.tokenIds.slice(0, 4).every((id) => !stopTokenIds.has(id))).toBe(true)
  })

  test("where the context ends", async () => {
    const policy = await start()
    const prompt = Array.from({ length: 45 }, () => 1)
    expect(await sampleOne(policy, { prompt, maxTokens: 100 })).toMatchObject({ finishReason: "length" })
    expect((await sampleOne(policy, { prompt, maxTokens: 100 })).tokenIds).toHaveLength(3)
  })

  test("as aborted when its request is given up, and the others go on", async () => {
    const policy = await start()
    const abort = new AbortController()
    const givenUp = policy.sample(request({ maxTokens: 40, signal: abort.signal, n: 3 }))
    const other = policy.sample(request({ maxTokens: 40 }))
    abort.abort()
    for (const sample of await givenUp) expect(sample.finishReason).toBe("abort")
    const [whole] = await other
    expect(whole!.tokenIds).toHaveLength(40)
    expectTrueLogprobs(policy.weights, [1, 2, 3], whole!)
  })

  test("as aborted when the policy closes", async () => {
    const policy = await start()
    const samples = policy.sample(request({ maxTokens: 40 }))
    await policy.close()
    expect((await samples)[0]!.finishReason).toBe("abort")
    expect((await policy.sample(request()))[0]!.finishReason).toBe("abort")
  })
})

describe("new weights", () => {
  test("are used from the next token on, and each token says which drew it", async () => {
    const policy = await start({ version: 7 })
    let tokens = 0
    const swapped = Promise.withResolvers<void>()
    const samples = policy.sample(
      request({
        maxTokens: 12,
        stopWhen: () => {
          if (++tokens === 5) void policy.setWeights(loudWeights(2), 8).then(swapped.resolve)
          return undefined
        },
      }),
    )
    const [sample] = await samples
    await swapped.promise
    expect(sample!.versions).toEqual([
      { version: 7, start: 0, end: 5 },
      { version: 8, start: 5, end: 12 },
    ])
    expect(policy.version).toBe(8)
    const after = await sampleOne(policy)
    expect(after.versions).toEqual([{ version: 8, start: 0, end: 8 }])
    expectTrueLogprobs(loudWeights(2), [1, 2, 3], after)
  })

  test("that come quickly one after another all report, and the newest stays", async () => {
    const policy = await start()
    await Promise.all([policy.setWeights(loudWeights(2), 1), policy.setWeights(loudWeights(3), 2)])
    expect(policy.version).toBe(2)
    expectTrueLogprobs(loudWeights(3), [1, 2, 3], await sampleOne(policy))
  })
})
