"""Deep agents with the paper's network on MountainCar: one run beside Stable-Baselines3, batches of runs.

The single runs train with two layers of 512, batches of 64 and an update every 2 steps, in processes of their
own that may use one core, and take turns. Stable-Baselines3 lives in the environment of
``make test-interop``, which ``make peers`` makes too; without it there is no peer.
"""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from _figures import HERE, best_of, print_table, scaled

STEPS, REPEATS, LIMIT = 4000, 3, 2.0
ROBUST, ROBUST_LIMIT = "robust_dqn", 1.15
RUNS, WIDTHS = (1, 8, 24), (512, 64)
BATCH_STEPS = {512: 4800, 64: 60_000}  # of all runs together
OURS, PEER = Path(sys.executable), HERE.parent / ".venv-interop" / "bin" / "python"
# Warmed up before timing starts: compiled, and beyond the first updates. Processor time is measured, so that
# waiting for a busy core does not count.
OWN_SCRIPT = """
import json, time
import heavytail as ht
runs = [dict(seed=i) for i in range({runs})]
make = getattr(ht.deep, "{agent}")
learner = make("mountain_car", hidden={hidden}, replay=500_000, runs=runs)
learner.learn(600, checkpoints=1)
clock = time.{clock}
started = clock()
learner.learn({steps}, checkpoints=1)
print(json.dumps((clock() - started) / {steps} / {runs}))
"""
STABLE_BASELINES3 = """
import json, time
import gymnasium, torch
from stable_baselines3 import DQN
torch.set_num_threads(1)
model = DQN(
    "MlpPolicy", gymnasium.make("MountainCar-v0"), learning_rate=1e-4, buffer_size=500_000,
    learning_starts=500, batch_size=64, train_freq=2, gradient_steps=1, target_update_interval=50,
    policy_kwargs=dict(net_arch=[512, 512]), device="cpu", seed=0,
)
model.learn(600)
started = time.process_time()
model.learn({steps}, reset_num_timesteps=False)
print(json.dumps((time.process_time() - started) / {steps}))
"""


def seconds(python: Path, script: str, cores: int) -> float:
    """Run a script in a new process with so many cores; return the seconds per step that it prints."""
    allowed = sorted(os.sched_getaffinity(0))[-cores:]
    pinned = f"import os; os.sched_setaffinity(0, {allowed})\n{script}"
    done = subprocess.run([python, "-c", pinned], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def own(agent: str, width: int, runs: int, steps: int, cores: int, clock: str) -> float:
    """Return the seconds of one step of one run of ours."""
    script = OWN_SCRIPT.format(agent=agent, hidden=(width, width), runs=runs, steps=steps, clock=clock)
    return seconds(OURS, script, cores)


def one_core(quick: bool) -> dict[str, float]:
    """Return the steps per second of one run."""
    steps = scaled(STEPS, quick)
    turns = {
        "heavytail": partial(own, "heavy_dqn", 512, 1, steps, 1, "process_time"),
        ROBUST: partial(own, ROBUST, 512, 1, steps, 1, "process_time"),
    }
    if PEER.exists():
        turns["Stable-Baselines3"] = partial(seconds, PEER, STABLE_BASELINES3.format(steps=steps), 1)
    return {name: 1.0 / cost for name, cost in best_of(scaled(REPEATS, quick), turns).items()}


def batches(quick: bool) -> dict[str, float]:
    """Return the steps per second of all runs of a batch together, on all cores."""
    cores, speeds = len(os.sched_getaffinity(0)), {}
    for width in WIDTHS:
        for runs in RUNS:
            steps = max(scaled(BATCH_STEPS[width], quick) // runs // 50 * 50, 50)
            speeds[f"{runs} x {width}"] = 1.0 / own("heavy_dqn", width, runs, steps, cores, "perf_counter")
    return speeds


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, and return the figures."""
    alone, together = one_core(quick), batches(quick)
    ours, peer = alone["heavytail"], alone.get("Stable-Baselines3")
    robust = ours / alone[ROBUST]
    cost = f"<= {ROBUST_LIMIT} {'met' if robust <= ROBUST_LIMIT else 'MISSED'}"
    rows = [
        ["heavytail, heavy_dqn", f"{ours:,.0f}", "", ""],
        [f"heavytail, {ROBUST}", f"{alone[ROBUST]:,.0f}", f"{robust:.2f}", cost],
    ]
    if peer is None:
        rows.append(["Stable-Baselines3", "not installed: make peers", "", ""])
    else:
        verdict = f">= {LIMIT} {'met' if ours >= LIMIT * peer else 'MISSED'}"
        rows.append(["Stable-Baselines3", f"{peer:,.0f}", f"{ours / peer:.2f}", verdict])
    print_table(
        "DQN, 512 x 512, one run on one core", ["steps per second", "", "ours is times", "limit"], rows
    )
    print_table(
        "DQN, batches of runs on all cores",
        ["runs x width", "steps of all runs per second"],
        [[name, f"{speed:,.0f}"] for name, speed in together.items()],
    )
    return {"one_core_steps_per_s": alone, "batch_steps_per_s": together}
