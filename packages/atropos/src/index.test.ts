import { execFileSync } from "node:child_process"

import { expect, it } from "vitest"

import * as index from "./index.ts"
import * as testing from "./testing.ts"

// A change here is a change of what users may rely on.
it("exports the names that were chosen, and no others", () => {
  expect(Object.keys(index).toSorted()).toMatchInlineSnapshot(`
    [
      "AtroposError",
      "Dataset",
      "Environment",
      "JsonFloat",
      "MathPool",
      "RewardRegistry",
      "ServerPool",
      "TokenIds",
      "TrajectoryClient",
      "TurnTokens",
      "afterThink",
      "answerAfterThink",
      "applyLengthPenalty",
      "boxedAnswerTarget",
      "builtIn",
      "callReward",
      "compileTemplate",
      "contentOf",
      "createAnswerParser",
      "createChatTemplate",
      "createLineLogger",
      "createMemoryStore",
      "createRandom",
      "createTrajectoryServer",
      "datasetFields",
      "deepThinkingPrompt",
      "defaultTargets",
      "defineEnvironment",
      "defineReward",
      "defineTool",
      "describeTools",
      "detectServerType",
      "discountedReturns",
      "discoverSlurmServers",
      "environmentConfig",
      "environmentRows",
      "errorCodes",
      "fitTurns",
      "isAtroposError",
      "loadTokenizer",
      "mathEquals",
      "openDataset",
      "openServer",
      "openServerPool",
      "openSession",
      "openSqliteStore",
      "outcomeAdvantages",
      "packRows",
      "parseAnswer",
      "parseBoxedAnswer",
      "parseGoldAnswer",
      "parseLosslessJson",
      "passAtK",
      "penaliseLength",
      "processAdvantages",
      "rolloutEnds",
      "runIfMain",
      "runToolCalls",
      "selectBest",
      "silentLogger",
      "splitThinking",
      "taskPacks",
      "tokenizeForTrainer",
      "transliterateToSlp1",
      "verify",
      "z",
    ]
  `)
  expect(Object.keys(testing).toSorted()).toMatchInlineSnapshot(`
    [
      "ScriptedPolicy",
      "checkEnvironment",
      "createModelStub",
      "createStubTokenizer",
      "openTrial",
      "storeCases",
      "stubTokenizerFiles",
    ]
  `)
})

// Environments import this on every start, tests and --help among them.
it("loads no package for what is not used yet: servers, connections, files of other formats, the hub", () => {
  const entry = new URL("index.ts", import.meta.url).href
  const script = `
    import { registerHooks } from "node:module"
    const packages = new Set()
    registerHooks({
      load(url, context, next) {
        packages.add(/.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1])
        return next(url, context)
      },
    })
    await import(${JSON.stringify(entry)})
    console.log(JSON.stringify([...packages].filter(Boolean).sort()))`
  const loaded = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" })
  expect(JSON.parse(loaded)).toEqual(["@huggingface/tokenizers", "zod"])
})
