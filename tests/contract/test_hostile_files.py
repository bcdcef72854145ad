"""No file of a registered agent, whatever its arrays hold, ends in a crash or in an action that is none."""

import os
from pathlib import Path

from support import hostile_files
from support.processes import run


def test_every_array_of_every_agent_may_be_altered(tmp_path: Path) -> None:
    """In another process: what this is about ends processes."""
    tests = str(Path(hostile_files.__file__).parents[1])
    in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else str(tmp_path)  # noqa: S108 - files are synced
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    done = run("-m", "support.hostile_files", in_memory, env=environment)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"{lines[-1:]} ended with {done.returncode}: {done.stderr[-2000:]}"
    assert "FAULT" not in done.stdout, done.stdout[done.stdout.index("FAULT") :]
    assert int(lines[-1].removeprefix("refused ")) > 0.3 * len(lines)  # otherwise nothing would be altered
