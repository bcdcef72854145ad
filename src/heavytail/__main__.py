"""``python -m heavytail`` is the command ``heavytail``."""

from heavytail.cli import app

if __name__ == "__main__":
    app(prog_name="heavytail")
