// Test doubles that environment authors use too.
export type { StubFault } from "./inference/stub/faults.ts"
export {
  createModelStub,
  type ModelStub,
  type ModelStubOptions,
  type StubQuestion,
} from "./inference/stub/model-stub.ts"
export { createStubTokenizer, stubTokenizerFiles } from "./inference/stub/tokenizer/stub-tokenizer.ts"
export { ScriptedPolicy, type ScriptedCall, type ScriptedPolicyOptions } from "./environment/testing/scripted-policy.ts"
export { openTrial, type Trial, type TrialOptions } from "./environment/testing/trial.ts"
export { checkEnvironment, type CheckOptions, type CheckResult } from "./environment/check/check-environment.ts"
// What every store must do, for those who write one.
export { storeCases, type StoreCase, type StoreFixture } from "./server/stores/store-conformance.ts"
