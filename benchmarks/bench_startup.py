"""Start-up: time of an import, of a process's first run, and of compiling what each agent needs first."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from typing import Any

from _figures import best_of, print_table, scaled
from heavytail.registry import registered

REPEATS, COLD_REPEATS = 10, 2
IMPORT_LIMIT, RUN_LIMIT = 0.3, 0.5
IMPORT = "import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
# Everything is imported before the next part is timed, since heavytail imports as late as it can.
FIRST_RUN = """
import json, time
times = [time.perf_counter()]
import heavytail as ht, heavytail.training.learner, heavytail.agents.q_learning, heavytail.envs.six_arms
times.append(time.perf_counter())
learner = ht.make_agent(ht.make_mdp("six_arms"), "q_learning", seed=0, transition_scale=0.01)
times.append(time.perf_counter())
learner.learn(episodes=100)
times.append(time.perf_counter())
print(json.dumps([b - a for a, b in zip(times, times[1:])]))
"""
# In a new process each; of `act` and `update`, which share much, the second is compiled after the first.
FIRST_CALLS = """
import json, time
import heavytail as ht, heavytail.kernels.validity, heavytail.training.learner, heavytail.serving.online_agent
from heavytail.registry import find
name, entry = {name!r}, find("agent", {name!r})
_, *parameters = entry.parameters.values()
needed = any(p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in parameters)
example = dict(entry.example) if needed else {{}}
def seconds(clock, call):
    started = clock()
    call()
    return clock() - started
{calls}
"""
STEPWISE = """
try:
    agent = ht.make_online(7, 6, name, seed=0, horizon=20, **example)
except ht.InputError:  # it needs to know the MDP
    print(json.dumps([None] * len({calls})))
else:
    calls = dict(act=lambda: agent.act(0), update=lambda: agent.update(0, 0, 1.0, 1), warm_up=agent.warm_up)
    print(json.dumps([seconds(time.{clock}, calls[name]) for name in {calls}]))
"""
LEARN = """
learner = ht.make_agent(ht.make_mdp("six_arms"), name, seed=0, **example)
print(json.dumps([seconds(time.process_time, lambda: learner.learn(episodes=1))]))
"""
# What a user waits for, while a thread compiles; and the work of compiling.
FIRST = STEPWISE.format(clock="perf_counter", calls=("act", "update", "warm_up"))
WORK = STEPWISE.format(clock="process_time", calls=("warm_up",))
CALLS = ("act, ms", "update, ms", "compiled, s", "act and update, CPU-s", "learn, CPU-s")
PARTS = ("import everything", "build", "first learn")
WHOLE = "whole first run"


def new_process(code: str, environment: Mapping[str, str] | None = None) -> Any:
    """Run code in a new Python, and return what it prints as JSON."""
    variables, command = {**os.environ, **(environment or {})}, [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    return json.loads(done.stdout)


def import_cost(module: str) -> float:
    """Return the seconds of an import in a new process."""
    return float(new_process(IMPORT.format(module=module)))


def first_run(folder: str) -> list[float]:
    """Return the seconds of each part of a first run, with machine code cached in this folder."""
    return [float(x) for x in new_process(FIRST_RUN, {"HEAVYTAIL_CACHE_DIR": folder})]


def cold_run() -> list[float]:
    """Return the same with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        return first_run(folder)


def best_run(runs: list[list[float]]) -> dict[str, float]:
    """Return the parts of the fastest run, and their sum; parts of different runs are not mixed."""
    parts = min(runs, key=sum)
    return {**dict(zip(PARTS, parts, strict=True)), WHOLE: sum(parts)}


def first_calls(name: str) -> dict[str, float | None]:
    """Return what an agent's first calls take with nothing compiled before."""
    found = []
    for calls in (FIRST, WORK, LEARN):
        with tempfile.TemporaryDirectory() as folder:
            code = FIRST_CALLS.format(name=name, calls=calls)
            found += new_process(code, {"HEAVYTAIL_CACHE_DIR": folder})
    in_ms = [None if x is None else 1e3 * x for x in found[:2]]
    return dict(zip(CALLS, [*in_ms, *found[2:]], strict=True))


def measure(quick: bool) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Measure imports, the first run with a cache, and the first run without."""
    repeats = max(scaled(REPEATS, quick), 3)
    imports = best_of(repeats, {name: partial(import_cost, name) for name in ("heavytail", "numba", "numpy")})
    with tempfile.TemporaryDirectory() as folder:
        first_run(folder)  # compiles and keeps
        warm = best_run([first_run(folder) for _ in range(repeats)])
    cold = best_run([cold_run() for _ in range(scaled(COLD_REPEATS, quick))])
    return imports, warm, cold


def row(label: str, ours: float, peer: float, limit: float | None = None) -> list[str]:
    """Make a row of the table."""
    verdict = "" if limit is None else f"<= {limit} {'met' if ours <= limit else 'MISSED'}"
    return [label, f"{ours:.3f}", f"{peer:.3f}", f"{ours / peer:.3f}", verdict]


def section(quick: bool) -> dict[str, Any]:
    """Measure, print, and return the figures."""
    imports, warm, cold = measure(quick)
    rows = [
        row(f"import heavytail, beside import {peer}", imports["heavytail"], imports[peer], IMPORT_LIMIT)
        for peer in ("numba", "numpy")
    ]
    rows += [row(f"{part}, cache beside no cache", warm[part], cold[part]) for part in PARTS]
    rows.append(row(f"{WHOLE}, cache beside no cache", warm[WHOLE], cold[WHOLE], RUN_LIMIT))
    print_table("Start-up, in new processes", ["seconds", "heavytail", "peer", "ratio", "limit"], rows)
    names = [agent.name for agent in registered("agent")]
    compiling = {name: first_calls(name) for name in names[: scaled(len(names), quick)]}
    print_table(
        "First calls of an agent on the first day, until it is compiled, and the work of compiling",
        ["agent", *CALLS],
        [
            [name, *("-" if x is None else f"{x:.1f}" for x in calls.values())]
            for name, calls in compiling.items()
        ],
    )
    figures = {"import_s": imports, "first_run_cached_s": warm, "first_run_compiling_s": cold}
    return {**figures, "first_calls": compiling}
