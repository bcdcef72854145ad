"""Which wrapper when: Stable-Baselines3's DQN and PPO, with each wrapper of rewards and with none.

Run in the environment of ``make test-interop``: ``.venv-interop/bin/python benchmarks/bench_wrappers.py``
prints the table of docs/deep.md from ``wrappers.json``; ``--run`` first runs what is missing there (25
minutes of one core for all). Seeds 0 to 2, 100 and 101 were for choosing; those reported were fixed before
any of them was run.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

import heavytail as ht

RESULTS = Path(__file__).parent / "wrappers.json"
SEEDS = range(200, 205)
ALPHA = 1.1  # of the stable noise
SCALES = (5.0, 0.0)
LAST = 0.2  # of the steps, in which returns are looked at

WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "none": lambda venv: venv,
    "clip": lambda venv: ht.gym.TruncateReward(venv, mode="clip", limit=1.0),
    "TruncateReward": ht.gym.TruncateReward,
    "DenoiseReward": ht.gym.DenoiseReward,
}


class Task(NamedTuple):
    """An environment, and how long is learnt in it."""

    name: str
    cap: int
    steps: dict[str, int]


TASKS = [
    Task("CartPole-v1", 500, {"DQN": 20_000, "PPO": 30_000}),
    Task("CliffWalking-v1", 100, {"DQN": 12_000, "PPO": 30_000}),
]


class Run(NamedTuple):
    """What is compared."""

    task: Task
    algorithm: str
    scale: float
    wrapper: str
    seed: int

    @property
    def key(self) -> str:
        """The name of the run in the file."""
        return f"{self.task.name} {self.algorithm} {self.scale:g} {self.wrapper} {self.seed}"


def runs(seeds: range) -> Iterator[Run]:
    """List the runs, seed by seed."""
    for seed, scale, task, algorithm, wrapper in product(seeds, SCALES, TASKS, ("DQN", "PPO"), WRAPPERS):
        if scale > 0 or wrapper in ("none", "DenoiseReward"):
            yield Run(task, algorithm, scale, wrapper, seed)


def clean_return(run: Run) -> float:
    """Train, and return the mean return, without noise, of the episodes that end in the last steps."""
    from stable_baselines3 import DQN, PPO
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    n_envs = 1 if run.algorithm == "DQN" else 8
    monitors = [Monitor(gymnasium.make(run.task.name, max_episode_steps=run.task.cap)) for _ in range(n_envs)]
    law = ht.laws.alpha_stable(alpha=ALPHA, scale=run.scale) if run.scale else ht.laws.constant(0.0)
    noisy = [ht.gym.AddRewardNoise(env, law) for env in monitors]
    venv: Any = DummyVecEnv([lambda env=env: env for env in noisy])
    venv.seed(run.seed)
    venv = WRAPPERS[run.wrapper](venv)
    shared: dict[str, Any] = {"seed": run.seed, "device": "cpu", "learning_rate": 1e-3, "gamma": 0.99}
    if run.algorithm == "DQN":
        model: Any = DQN(
            "MlpPolicy",
            venv,
            buffer_size=50_000,
            learning_starts=500,
            train_freq=4,
            gradient_steps=2,
            target_update_interval=200,
            exploration_fraction=0.2,
            exploration_final_eps=0.04,
            batch_size=64,
            policy_kwargs={"net_arch": [64, 64]},
            **shared,
        )
    else:
        model = PPO("MlpPolicy", venv, n_steps=128, batch_size=256, n_epochs=8, gae_lambda=0.9, **shared)
    steps = run.task.steps[run.algorithm]
    model.learn(steps)
    late = []
    for monitor in monitors:
        ends = np.cumsum(monitor.get_episode_lengths())
        late += np.array(monitor.get_episode_rewards())[ends > (1 - LAST) * steps / n_envs].tolist()
    return float(np.mean(late))


def table(results: dict[str, float], seeds: range) -> str:
    """Write the median return and the worst of each, of the seeds that all wrappers have run."""
    lines = [f"| task, noise | seeds | {' | '.join(WRAPPERS)} |", "| --- " * (len(WRAPPERS) + 2) + "|"]
    for task, algorithm, scale in product(TASKS, ("DQN", "PPO"), SCALES):
        wanted = [run for run in runs(seeds) if run[:3] == (task, algorithm, scale)]
        missing = {run.seed for run in wanted if run.key not in results}
        found = {
            name: [results[r.key] for r in wanted if r.wrapper == name and r.seed not in missing]
            for name in WRAPPERS
        }
        cells = [f"{np.median(x):.0f} [{min(x):.0f}]" if x else "" for x in found.values()]
        name = f"{task.name.split('-')[0]}, {algorithm}, {scale:g}"
        lines.append(f"| {name} | {len(seeds) - len(missing)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, after running what is missing if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", action="store_true", help="run what is missing in the file")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--seeds", type=int, nargs=2, default=(SEEDS.start, SEEDS.stop))
    parser.add_argument("--only", default="", help="runs whose name has this in it")
    arguments = parser.parse_args()
    seeds = range(*arguments.seeds)
    results = json.loads(arguments.results.read_text()) if arguments.results.exists() else {}
    if arguments.run:
        import torch

        torch.set_num_threads(1)
        for run in runs(seeds):
            if run.key not in results and arguments.only in run.key:
                results[run.key] = round(clean_return(run), 2)
                arguments.results.write_text(json.dumps(results, indent=0) + "\n")
    print(table(results, seeds))


if __name__ == "__main__":
    main()
