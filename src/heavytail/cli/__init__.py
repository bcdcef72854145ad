"""The command ``heavytail``: every file beside this one adds commands to it."""

import pkgutil
from importlib import import_module

from heavytail.cli.app import app

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["app"]
