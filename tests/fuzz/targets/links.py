"""Links and pipes in the folder of a study: in the place of files and folders that are read or written.

They lead to files and folders of the user, to nothing, or to devices that never end. The study is run, and
reported now and then; what belongs to the user stays as it is.
"""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fuzz.mutation import Generator
from fuzz.targets.parts import Whole, run_whole, use, write_folder
from heavytail.studies import Study

SHARE = 0.03
REPORTED = 0.02  # share of inputs that are reported: that takes a second
WRITTEN = (".lock", "parts", "sidecars", "resume", "mdps", "report.html", "figures")
TARGETS = ("folder", "file", "study", "nowhere", "/dev/zero", "/dev/full", "pipe")
CONTENT = "of the user"


def start(folder: Path) -> Callable[[Generator], None]:
    """Run a small study, and make what its links will lead to."""
    outside = folder.parent / "outside"
    (outside / "folder").mkdir(parents=True)
    whole = run_whole(folder)
    shutil.copytree(whole.folder, outside / "study")
    for path in (outside / "file", outside / "folder" / "x", outside / "folder" / ".x.unfinished"):
        path.write_text(CONTENT)
    return partial(try_one, whole, folder, outside, contents(outside))


def contents(folder: Path) -> dict[Path, bytes]:
    """Read all files below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def try_one(whole: Whole, folder: Path, outside: Path, before: dict[Path, bytes], rng: Generator) -> None:
    """Put a link or a pipe into the place of something, and run the study."""
    write_folder(whole, {})
    names = (*WRITTEN, *whole.files) if rng.random() < 0.5 else WRITTEN
    path = whole.folder / names[int(rng.integers(len(names)))]
    report = path.name in ("report.html", "figures") or bool(rng.random() < REPORTED)
    _put(path, outside, str(rng.choice(TARGETS)))
    if rng.random() < 0.3:  # so that there is something to do
        for part in (whole.folder / "parts").glob("*"):
            part.unlink()
            break
    try:
        Study.open(whole.folder).run("inline")
        use(whole.folder, folder, report=report)
    finally:
        assert contents(outside) == before, "a file outside was changed"


def _put(path: Path, outside: Path, target: str) -> None:
    """Put a link to a target there, or a pipe."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if target == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(outside / target)
