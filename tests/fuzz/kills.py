"""Kill services and studies at random moments: ``make kills``, or fewer with ``--services 5 --studies 5``.

A service is an agent that saves itself every 20 updates. After each kill its file must load, and hold what an
agent holds that was never killed, to the last bit; another process goes on from it. A study is continued
after each kill, by an engine drawn at random, until it is done; then it must hold the bytes of one that was
never killed. What was tried and lost is written into docs/production.md; a fault ends in an error instead.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import heavytail as ht
from _figures import to_markdown, write_table
from heavytail.agent_file import flatten
from support.processes import PATIENCE, running, signal_group
from support.small_studies import Files, files, small

PAGE = Path(__file__).parents[2] / "docs" / "production.md"
UPDATES = 20  # between two saves
SECONDS = 1.0  # until a service is killed, at most
KILLS_PER_STUDY = 2  # or about twice as many
BEFORE_IT_STARTS = 0.2  # share of kills that may come before the work begins
ENGINES = ("inline", "local")
SERVICE = """
import sys
import numpy as np
from fuzz.kills import UPDATES, open_agent, updates_of

agent = open_agent(sys.argv[1]).warm_up()
agent.autosave(sys.argv[1], updates=UPDATES)
told = np.memmap(sys.argv[2], np.int64, "r+", shape=1)  # outlives the process
print("ready", flush=True)
for s, r, s_next in updates_of(agent.updates):
    agent.update(s, agent.act(s), r, s_next)
    told[0] = agent.updates
"""
STUDY = """
import json, sys
from heavytail.studies import Study, plan

plan.STEPS_PER_PART = 1  # a part is a run
study = Study(json.loads(sys.argv[1]), sys.argv[2])
print("ready", flush=True)
study.run(sys.argv[3], **({"workers": 2} if sys.argv[3] == "local" else {}))
"""


class Kills(NamedTuple):
    """What was killed, how often, and what that cost."""

    what: str
    times: int
    lost: str


def open_agent(path: str | Path) -> ht.OnlineAgent[Any]:
    """Begin as a service does: from the file, if there is one."""
    return ht.OnlineAgent.load(path) if Path(path).exists() else ht.make_online(6, 3, seed=0)


def updates_of(first: int) -> Any:
    """Yield what the world shows from an update on: it follows from the number of the update alone."""
    while True:
        rng = np.random.default_rng(first // UPDATES)
        rows = zip(rng.integers(6, size=UPDATES), rng.standard_t(1.5, UPDATES), strict=True)
        told = [(int(s), float(r), int(s + r) % 6) for s, r in rows]
        yield from told[first % UPDATES :]
        first += UPDATES - first % UPDATES


def kill_services(times: int, folder: Path, chance: random.Random) -> Kills:
    """Kill a service again and again, and compare its file with an agent that was never killed."""
    path, told = folder / "agent.npz", folder / "told"
    twin, most = open_agent(path).warm_up(), 0
    for _ in range(times):
        told.write_bytes(bytes(8))
        with running("-c", SERVICE, str(path), str(told)) as child:
            _kill(child, chance, SECONDS)
        if not path.exists():
            continue
        saved = open_agent(path)
        for s, r, s_next in updates_of(twin.updates):
            if twin.updates == saved.updates:
                break
            twin.update(s, twin.act(s), r, s_next)
        mine, other = flatten("session", saved.session), flatten("session", twin.session)
        differ = [name for name in mine if not np.array_equal(mine[name], other[name])]
        most = max(most, int(np.fromfile(told, np.int64)[0]) - saved.updates)
        if differ or most > UPDATES:
            raise AssertionError(f"after {saved.updates} updates: {differ} differ, {most} updates lost")
    words = f"the updates since the last save: at most {most}"
    return Kills(f"a service that saves every {UPDATES} updates ({twin.updates:,} in all)", times, words)


def kill_studies(times: int, folder: Path, chance: random.Random) -> Kills:
    """Kill studies until they are done, each time with another engine, and compare their files."""
    raw = small(episodes=5_000, seeds=10, agents={"random": {}, "q_learning": {}})
    _run_to_its_end(raw, folder / "warm", "local")  # so that all is compiled
    begun, whole = time.monotonic(), _run_to_its_end(raw, folder / "whole", "local")
    seconds, done, killed = (time.monotonic() - begun) / KILLS_PER_STUDY, 0, 0
    while killed < times:
        with running("-c", STUDY, json.dumps(raw), str(folder / str(done)), chance.choice(ENGINES)) as child:
            was_killed = _kill(child, chance, seconds)
        killed += was_killed
        if not was_killed or killed == times:
            if _run_to_its_end(raw, folder / str(done), "inline") != whole:
                raise AssertionError(f"the study {done} holds other bytes")
            done += 1
    return Kills(
        f"studies, continued by an engine drawn at random ({done} in all)",
        times,
        "nothing: the same bytes at the end",
    )


def _run_to_its_end(raw: dict[str, Any], folder: Path, engine: str) -> Files:
    with running("-c", STUDY, json.dumps(raw), str(folder), engine) as child:
        _, errors = child.communicate(timeout=PATIENCE)
    if child.returncode:
        raise AssertionError(errors)
    return files(folder)


def _kill(child: "subprocess.Popen[str]", chance: random.Random, seconds: float) -> bool:
    """Kill a process and its workers after a while; return False if it came to its end before."""
    assert child.stdout is not None
    if chance.random() >= BEFORE_IT_STARTS:
        child.stdout.readline()
    try:
        code = child.wait(chance.uniform(0.0, seconds))
    except subprocess.TimeoutExpired:
        signal_group(child, signal.SIGKILL)
        return True
    if code:
        raise AssertionError(child.communicate()[1])
    return False


def main() -> None:
    """Kill, print the table and write it into the page."""
    parser = argparse.ArgumentParser(prog="kills", description="Kill services and studies.")
    parser.add_argument("--services", type=int, default=50, help="how often a service is killed")
    parser.add_argument("--studies", type=int, default=40, help="how often studies are killed")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)  # noqa: S311 - nothing secret
    with tempfile.TemporaryDirectory(prefix="heavytail-kills-") as folder:
        rows = [
            kill_services(given.services, Path(folder), chance),
            kill_studies(given.studies, Path(folder) / "studies", chance),
        ]
    table = to_markdown(("killed at random moments", "times", "lost"), [list(map(str, row)) for row in rows])
    sys.stdout.write(table)
    write_table(PAGE, "make kills", table)


if __name__ == "__main__":
    main()
