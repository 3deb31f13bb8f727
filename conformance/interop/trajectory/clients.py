"""
The calls of environments and trainers through one HTTP library each: a GET with a JSON body, a gzipped push, a batch.
Reads one JSON object from stdin, writes one with what came.
"""

import asyncio
import gzip
import hashlib
import json
import sys


def packed(group):
    return gzip.compress(json.dumps(group).encode(), compresslevel=9)


GZIPPED = {"Content-Type": "application/json", "Content-Encoding": "gzip"}


def with_requests(url, group):
    import requests

    status = requests.get(f"{url}/status-env", json={"env_id": 0}, timeout=10)
    push = requests.post(f"{url}/scored_data", data=packed(group), headers=GZIPPED, timeout=10)
    batch = requests.get(f"{url}/batch", timeout=10)
    return status.json(), push.json(), batch.json(), batch.headers.get("content-encoding")


def with_httpx(url, group):
    import httpx

    with httpx.Client() as client:
        status = client.request("GET", f"{url}/status-env", json={"env_id": 0})
        push = client.post(f"{url}/scored_data", content=packed(group), headers=GZIPPED)
        batch = client.get(f"{url}/batch")
        return status.json(), push.json(), batch.json(), batch.headers.get("content-encoding")


def with_aiohttp(url, group):
    import aiohttp

    async def calls():
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{url}/status-env", json={"env_id": 0}) as answer:
                status = await answer.json()
            async with session.post(f"{url}/scored_data", data=packed(group), headers=GZIPPED) as answer:
                push = await answer.json()
            async with session.get(f"{url}/batch") as answer:
                return status, push, await answer.json(), answer.headers.get("content-encoding")

    return asyncio.run(calls())


def digest(value):
    return hashlib.sha256(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


asked = json.load(sys.stdin)
library = {"requests": with_requests, "httpx": with_httpx, "aiohttp": with_aiohttp}[asked["library"]]
status, push, batch, encoding = library(asked["url"], asked["group"])
groups = batch["batch"]
json.dump(
    {
        "status": status,
        "push": push,
        "encoding": encoding,
        "tokens": [digest(group["tokens"]) for group in groups],
        "messages": [digest(group["messages"]) for group in groups],
        "logprobs": [group["inference_logprobs"] for group in groups],
        "scores": [[type(score).__name__ for score in group["scores"]] for group in groups],
        "keys": sorted({len(group) for group in groups}),
    },
    sys.stdout,
)
