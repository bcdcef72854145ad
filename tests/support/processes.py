"""Running Python in a fresh process, as a user would, and leaving none behind."""

import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 600.0  # seconds until a test gives up waiting; far more than anything takes, on a busy machine too

# Jobs in the background of a script start with SIGINT ignored, and so would all their children. What is to be
# interrupted starts as in the foreground.
FOREGROUND = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""


@contextmanager
def running(*arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start this Python as a shell starts a command in the foreground: in a process group of its own.

    At the end all of the group is killed, and its pipes are closed, also where the test fails.
    """
    command = [sys.executable, "-I", "-S", "-c", FOREGROUND, sys.executable, *arguments]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, start_new_session=True, **{**pipes, **options}) as child:
        try:
            yield child
        finally:
            signal_group(child, signal.SIGKILL)


def signal_group(child: "subprocess.Popen[str]", number: int) -> None:
    """Send a signal to a process and all its workers, as a terminal does."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, number)


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run this Python to its end."""
    with running(*arguments, **options) as child:
        printed, errors = child.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(arguments, child.returncode, printed, errors)


def run_python(script: str, *, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script in `folder`, from which it may import; a failing one fails the test."""
    done = run("-W", "error", "-c", textwrap.dedent(script), cwd=folder, env={**os.environ, **env})
    assert done.returncode == 0, done.stderr
    return done


def python(script: str, *, folder: Path, **env: str) -> str:
    """Return what a script prints."""
    return run_python(script, folder=folder, **env).stdout.strip()


def run_tests(file: Path, **env: str) -> None:
    """Run a file of tests in an environment of its own; all must pass, and none be skipped."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    options = ["-q", "-n", "0", "--color", "no", "-p", "no:cacheprovider"]
    done = run("-m", "pytest", *options, str(file), env={**environment, **env})
    last = (done.stdout.strip().splitlines() or [""])[-1]
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"\d+ passed in .*", last), done.stdout + done.stderr


def send(thing: T) -> T:
    """What another process would receive."""
    received: T = pickle.loads(pickle.dumps(thing))  # noqa: S301 - we have just written it
    return received
