"""The command as a process: stopped at any moment, it ends in one line."""

import os
import signal
import time
from pathlib import Path

import pytest

from support.processes import PATIENCE, run, running, signal_group

SPEC = """
name = "long"
episodes = 10_000_000
seeds = 50
[envs.six_arms]
[agents.q_learning]
"""


@pytest.mark.interrupt
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seconds", [0.15, 0.6, 3.0])
def test_a_command_that_is_stopped_ends_in_one_line(
    number: signal.Signals, seconds: float, tmp_path: Path
) -> None:
    (tmp_path / "spec.toml").write_text(SPEC)
    command = ["-m", "heavytail_command", "run", "spec.toml", "--out", "out", "--workers", "1"]
    with running(*command, cwd=tmp_path) as child:
        time.sleep(seconds)
        signal_group(child, number)
        _, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 128 + number
    lines = [line for line in errors.splitlines() if "heavytail: compiling" not in line]
    assert len(lines) == 1, errors
    begun = (tmp_path / "out" / "study.json").exists()
    assert lines[0] in (
        "heavytail: stopped",
        "stopped; nothing was begun",
        *["stopped; what is done is kept. Continue with: heavytail resume out"] * begun,
    )


@pytest.mark.interrupt
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_its_status_is_the_same_where_code_was_made_of_text(number: signal.Signals, tmp_path: Path) -> None:
    """As by dataclasses and named tuples: Python would kill itself by the signal when it exits."""
    text = f"import os; os.kill(os.getpid(), {int(number)})"
    (tmp_path / "stops.py").write_text(f"exec({text!r})")
    done = run("-m", "heavytail_command", "list", "--plugin", "stops", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (128 + number, "heavytail: stopped\n")


@pytest.mark.parametrize("command", [["list", "agents"], ["list", "--json"], ["run", "-h"]])
def test_nowhere_to_print_to_is_one_line_or_none(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = run("-m", "heavytail_command", *command, stdout=full)
    message = "heavytail: what it says cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, message)
    script = "import os, sys; os.close(1); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    done = run("-c", script, "-m", "heavytail_command", *command)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.interrupt
def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    script = """
import os, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
from heavytail_command import main
import heavytail.cli.list
heavytail.cli.list.print_json = lambda tables: os.kill(os.getpid(), signal.SIGINT)
import sys
sys.argv = ["heavytail", "list", "laws", "--json"]
main()
"""
    done = run("-c", script)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pipe_that_nobody_reads_is_no_complaint() -> None:
    """As of `heavytail --version | true`."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    unread, pipe = os.pipe()
    os.close(unread)
    with os.fdopen(pipe, "w") as out:
        done = run("-m", "heavytail_command", "--version", stdout=out, env=buffered)
    assert (done.returncode, done.stderr) == (1, "")
