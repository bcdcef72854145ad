"""The command ``heavytail``: thin, typed commands over the library."""

from heavytail.cli import bounds, lists, studies
from heavytail.cli.app import app

__all__ = ["app", "bounds", "lists", "studies"]
