"""Plugins: your own modules, named by a spec or by an option of a command.

They are found on Python's path, or else beside the spec, and imported again by every worker. Results name
what a module registered, never the module.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from heavytail.errors import InputError, short_repr
from heavytail.registry import plugin_modules

_HERE = Path(__file__).resolve()
PLACES = (_HERE.parents[1] / "published", _HERE.parents[3] / "studies")  # studies that come with heavytail

MAX_NAME = 200  # characters


def import_plugins(modules: Sequence[str], folder: Path | None = None) -> None:
    """Import modules that register something; a failure is a one-line error.

    Args:
        modules: their names, as in an import.
        folder: the folder of modules that are not on Python's path; None for a study that is only opened:
            its folder may be a stranger's, and opening it must not run code from there. Plugins beside
            heavytail's own studies are always found.
    """
    for module in modules:
        _check_name(module)
        for home in (folder, _published_home(module)):
            if home is not None:
                _make_findable(home)
        try:
            imported = importlib.import_module(module)
        except (Exception, SystemExit) as error:  # anything may happen: the module is not ours
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            missing = isinstance(error, ModuleNotFoundError) and error.name == module
            remedy = _remedy(module, folder) if missing else ""
            raise InputError(
                f"plugins: the module {module!r} cannot be imported ({reason}){remedy}"
            ) from error
        if folder is not None:
            _require_own(module, getattr(imported, "__file__", None), folder)


def _check_name(module: str) -> None:
    if module.endswith(".py") or "/" in module:
        name = ".".join(Path(module.removesuffix(".py")).parts)
        raise InputError(
            f"plugins: {short_repr(module)} is the path of a file; a module is named as in an import:"
            f" {short_repr(name)}"
        )
    if len(module) > MAX_NAME:
        raise InputError(
            f"plugins: {short_repr(module)} has {len(module)} characters, more than a file's name"
        )


def _published_home(module: str) -> Path | None:
    """Find the published study that has this plugin."""
    homes = (spec.parent for place in PLACES for spec in place.glob("*/spec.toml"))
    return next((home for home in homes if (home / f"{module}.py").is_file()), None)


def _make_findable(folder: Path) -> None:
    """Add a folder to the end of Python's path: its files must not replace installed modules."""
    if (path := str(folder.resolve())) not in sys.path:
        sys.path.append(path)


def _remedy(module: str, folder: Path | None) -> str:
    if folder is not None:
        return f"; it must be installed, or lie in {folder.resolve()}"
    return (
        "; install it, or name its folder, as in PYTHONPATH=FOLDER heavytail resume STUDY; beside a spec it"
        " is found by: heavytail run SPEC"
    )


def _require_own(module: str, file: str | None, folder: Path) -> None:
    """Raise InputError if another module of that name came first, unless both are equal."""
    own = folder.resolve().joinpath(*module.split(".")).with_suffix(".py")
    if file is not None and own.is_file() and own.read_bytes() != Path(file).read_bytes():
        raise InputError(f"plugins: the module {module!r} is {file}, and {own} is another; rename one")


# In workers


def locate_plugins() -> dict[str, str]:
    """Return the modules outside heavytail that registered something, with the folders they were found in."""
    return {module: _folder_of(module) for module in plugin_modules()}


def _folder_of(module: str) -> str:
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return ""
    path = Path(file).resolve()
    return str(path.parents[module.count(".") + (path.stem == "__init__")])


def import_located(plugins: Mapping[str, str]) -> None:
    """Import what `locate_plugins` found in another process; its folders may be on another machine."""
    for module, folder in plugins.items():
        if folder:
            _make_findable(Path(folder))
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise InputError(
                f"a worker cannot import {module}, in which something is registered: {error}"
            ) from None
