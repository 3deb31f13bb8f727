import { once } from "node:events"
import { connect, type Socket } from "node:net"

/** A connection whose bytes the test decides one by one. */
export class RawConnection {
  readonly socket: Socket
  private received: Buffer[] = []
  private readonly closed: Promise<unknown>

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on("error", () => {})
    this.closed = once(socket, "close")
  }

  static async open(address: string): Promise<RawConnection> {
    const { hostname, port } = new URL(address)
    const connection = new RawConnection(connect({ host: hostname, port: Number(port), allowHalfOpen: true }))
    await once(connection.socket, "connect")
    return connection
  }

  send(...parts: (string | Uint8Array)[]): this {
    for (const part of parts) this.socket.write(part)
    return this
  }

  /** Reads on until the server ends the connection. */
  async readAll(): Promise<Buffer> {
    this.socket.on("data", (chunk: Buffer) => this.received.push(chunk)).resume()
    await Promise.race([once(this.socket, "end"), this.closed])
    this.socket.destroy()
    return Buffer.concat(this.received)
  }

  /** Resolves when the server has ended the connection, whatever it sent before. */
  async ended(): Promise<void> {
    this.socket.resume()
    await Promise.race([once(this.socket, "end"), this.closed])
    this.socket.destroy()
  }
}

/** The head of a request that asks for the connection to be closed. */
export function head(method: string, path: string, headers: Readonly<Record<string, string | number>> = {}): string {
  const lines = Object.entries({ host: "127.0.0.1", connection: "close", ...headers })
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`
}
