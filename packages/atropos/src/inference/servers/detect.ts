import { isObject } from "../transport/read.ts"
import { ServerConnection } from "./connection.ts"
import type { ServerOptions, ServerType } from "./server-config.ts"

/**
 * What kind of server answers at an address, by what it says of itself. Rejects when nothing answers; a server
 * with OpenAI's routes and no more to say is "openai".
 */
export async function detectServerType(
  options: Pick<ServerOptions, "baseUrl" | "apiKey">,
  signal?: AbortSignal,
): Promise<ServerType> {
  const connection = new ServerConnection("server", { ...options, model: "" })
  try {
    const models = await connection.probe("/v1/models", signal)
    const owner = ownerOf(models)
    if (owner === "vllm" || owner === "sglang") return owner
    // Behind a proxy the owner may be rewritten; the servers' own routes tell as well.
    const version = await connection.probe("/version", signal)
    if (isObject(version) && typeof version["version"] === "string") return "vllm"
    const info = await connection.probe("/model_info", signal)
    if (isObject(info) && "weight_version" in info) return "sglang"
    if (models === undefined && isObject(await connection.probe("/get_world_size/", signal))) return "trl"
    if (isObject(await connection.probe("/bridge/info", signal))) return "vllm"
    return "openai"
  } finally {
    await connection.transport.close()
  }
}

function ownerOf(models: unknown): unknown {
  const data = isObject(models) && Array.isArray(models["data"]) ? models["data"] : []
  const [first] = data
  return isObject(first) ? first["owned_by"] : undefined
}
