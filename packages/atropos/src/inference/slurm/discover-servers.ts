import { execFile } from "node:child_process"
import { promisify } from "node:util"

import { AtroposError } from "../../runtime/errors.ts"
import { expandNodeList } from "./node-list.ts"

const firstPort = 9000
/** Of the machines for which the convention was made; Slurm's own word is taken where it says one. */
const usualGpusPerNode = 8

export interface SlurmOptions {
  environment: Readonly<Record<string, string | undefined>>
  /** Hosts of a node list. @default `scontrol show hostnames`, and our own reading where there is no scontrol */
  expand?: (nodeList: string) => Promise<string[]>
}

/**
 * Base URLs of the inference servers of a Slurm job: of its nodes the first `NUM_TRAINING_NODES` train, each other
 * one runs a server for every `INFER_TP` GPUs, on ports 9000 and up.
 */
export async function discoverSlurmServers(options: SlurmOptions): Promise<string[]> {
  const { environment, expand = expandWithScontrol } = options
  const nodeList = environment["SLURM_JOB_NODELIST"]
  if (nodeList === undefined || nodeList === "") {
    throw new AtroposError("bad-option", "SLURM_JOB_NODELIST is not set: --slurm works inside a Slurm job only")
  }
  const trainingNodes = readCount(environment, "NUM_TRAINING_NODES", 0)
  const gpusPerServer = readCount(environment, "INFER_TP", 1, 1)
  const gpus = /^\d+$/.test(environment["SLURM_GPUS_ON_NODE"] ?? "")
    ? Number(environment["SLURM_GPUS_ON_NODE"])
    : usualGpusPerNode
  const perNode = Math.floor(gpus / gpusPerServer)
  if (perNode === 0) {
    throw new AtroposError("bad-option", `INFER_TP is ${gpusPerServer}, but a node has ${gpus} GPUs: no server fits`)
  }
  const nodes = await expand(nodeList)
  if (nodes.length <= trainingNodes) {
    throw new AtroposError(
      "bad-option",
      `the job has ${nodes.length} nodes and NUM_TRAINING_NODES is ${trainingNodes}: none is left for inference`,
    )
  }
  return nodes
    .slice(trainingNodes)
    .flatMap((node) => Array.from({ length: perNode }, (_, index) => `http://${node}:${firstPort + index}/v1`))
}

function readCount(
  environment: Readonly<Record<string, string | undefined>>,
  name: string,
  fallback: number,
  least = 0,
): number {
  const text = environment[name]
  if (text === undefined || text === "") return fallback
  const value = Number(text)
  if (Number.isInteger(value) && value >= least) return value
  throw new AtroposError("bad-option", `${name} must be a whole number >= ${least}, received ${JSON.stringify(text)}`)
}

async function expandWithScontrol(nodeList: string): Promise<string[]> {
  try {
    const { stdout } = await promisify(execFile)("scontrol", ["show", "hostnames", nodeList], { timeout: 10_000 })
    const nodes = stdout.split("\n").filter((line) => line !== "")
    if (nodes.length > 0) return nodes
  } catch {
    // Not installed here, or not able to answer: the list says it all.
  }
  return expandNodeList(nodeList)
}
