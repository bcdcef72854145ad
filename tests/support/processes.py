"""Running Python in a fresh process, as a user would."""

import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def run_python(script: str, *, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A script after it was run in `folder`, from which it may import; a failing one fails the test."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def python(script: str, *, folder: Path, **env: str) -> str:
    """What a script prints."""
    return run_python(script, folder=folder, **env).stdout.strip()


def send(thing: T) -> T:
    """What another process would receive."""
    received: T = pickle.loads(pickle.dumps(thing))  # noqa: S301 - we have just written it
    return received
