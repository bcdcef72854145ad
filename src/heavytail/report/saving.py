"""Writing figures to files, the same bytes for the same figure."""

import os
from pathlib import Path
from threading import Lock

import matplotlib as mpl
from matplotlib.figure import Figure

from heavytail.errors import InputError

DPI = 150
METADATA: dict[str, dict[str, str | None]] = {".svg": {"Date": None}, ".png": {"Software": None}}
_settings = Lock()  # matplotlib's settings are one dictionary for all threads


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as SVG or PNG, by the end of the file's name.

    Args:
        figure: any matplotlib figure.
        path: where to; it ends in ``.svg`` or ``.png``.

    Returns:
        The path.
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in METADATA:
        raise InputError(f"{target.name!r} is no name for a picture; it must end in .svg or .png")
    if not target.parent.is_dir():
        raise InputError(f"{target} cannot be written: there is no folder {target.parent}")
    with _settings, mpl.rc_context({"svg.hashsalt": "heavytail"}):
        figure.savefig(target, format=kind[1:], dpi=DPI, metadata=METADATA[kind])
    return target
