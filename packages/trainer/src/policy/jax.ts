import { defaultDevice, init } from "@jax-js/jax"

/** Starts the numeric library's WebAssembly backend, the one that runs in Node; free when it runs already. */
export async function startJax(): Promise<void> {
  await init("wasm")
  defaultDevice("wasm")
}
