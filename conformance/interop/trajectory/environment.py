"""A real atroposlib environment, with the original's loop and HTTP code; only the policy is made up."""

import asyncio
import logging
import random
import sys

from atroposlib.envs.base import APIServerConfig, BaseEnv, BaseEnvConfig, ScoredDataGroup


class Environment(BaseEnv):
    name = "interop"

    async def setup(self):
        self.items = 0

    async def get_next_item(self):
        self.items += 1
        return self.items

    async def evaluate(self, *_, **__):
        pass

    async def collect_trajectories(self, item):
        await asyncio.sleep(0.01)
        group = ScoredDataGroup(tokens=[], masks=[], scores=[], inference_logprobs=[], messages=[])
        for n in range(self.config.group_size):
            prompt = [1 + item, 2, 3]
            answer = [random.randrange(5, 120_000) for _ in range(50 + n)]
            group["tokens"].append(prompt + answer)
            group["masks"].append([-100] * len(prompt) + answer)
            group["scores"].append(1.0 if n % 2 == 0 else -1.0)
            group["inference_logprobs"].append([1.0] * len(prompt) + [-random.random() for _ in answer])
            group["messages"].append([{"role": "user", "content": f"item {item} – ü"}])
        return group, []


async def main():
    logging.getLogger("atroposlib.envs.base").setLevel(logging.WARNING)
    config = BaseEnvConfig(
        group_size=4,
        max_num_workers=4,
        max_token_length=512,
        rollout_server_url=sys.argv[1],
        total_steps=int(sys.argv[2]),
        tokenizer_name="stand-in",
        use_wandb=False,
        wandb_name="interop",
        include_messages=True,
    )
    server = APIServerConfig(model_name="none", base_url="http://127.0.0.1:9/v1", api_key="x", health_check=False)
    environment = Environment(config, [server])
    await environment.env_manager()
    print(f"ended at step {environment.status_dict['current_step']}")


asyncio.run(main())
