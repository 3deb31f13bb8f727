"""The original's trajectory server on a free port, which it prints. `DELETE /state` makes it as if just started."""

import socket

import uvicorn
from atroposlib.api import app


@app.delete("/state")
async def forget():
    app.state._state.clear()


# The protocol is named so that asyncio sends answers at once, without Nagle's delay.
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listener.bind(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_keep_alive=600)).run(sockets=[listener])
