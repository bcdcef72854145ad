"""The command ``heavytail`` before heavytail is imported.

Importing takes a moment in which Ctrl-C would end in a traceback, so that this is a module of its own.
"""

import os
import signal


def main() -> None:
    """Run the command; Ctrl-C and SIGTERM end it in one line, with status 130 and 143."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)  # until `heavytail.cli` knows what to do
    from heavytail.cli import app

    app(prog_name="heavytail")


def _leave(number: int, frame: object) -> None:
    os.write(2, b"heavytail: stopped\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
