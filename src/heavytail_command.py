"""The command ``heavytail`` before heavytail is imported.

Importing takes a moment in which Ctrl-C would end in a traceback, so this is a separate module.
"""

import os
import signal
import sys


def main() -> None:
    """Run the command; Ctrl-C and SIGTERM end it in one line, with status 130 and 143."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)  # until `heavytail.cli` knows what to do
    from contextlib import redirect_stderr, redirect_stdout

    with (
        os.fdopen(os.open(os.devnull, os.O_WRONLY), "w") as nowhere,  # stands for what is closed
        redirect_stdout(sys.stdout or nowhere),
        redirect_stderr(sys.stderr or nowhere),
    ):
        try:
            _run()
        finally:
            _drop_what_nobody_reads(nowhere.fileno())


def _run() -> None:
    from heavytail.cli import app

    try:
        app(prog_name="heavytail")
    except OSError:
        if problem := _output_problem():
            os.write(2, f"heavytail: what it says cannot be written: {problem}\n".encode())
            os._exit(1)
        raise


def _drop_what_nobody_reads(nowhere: int) -> None:
    """Empty the buffers of closed pipes: Python would try to write them at its end, and complain."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is None:
            continue
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())


def _output_problem() -> str | None:
    """Say why nothing can be printed, if an empty line cannot."""
    try:
        print(flush=True)  # noqa: T201
    except OSError as error:
        return error.strerror
    return None


def _leave(number: int, frame: object) -> None:
    os.write(2, b"heavytail: stopped\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
