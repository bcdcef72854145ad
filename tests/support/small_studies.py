"""Small studies, and what is in their folders."""

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from heavytail.studies import Study
from heavytail.studies.part import Part
from heavytail.studies.part_table import run_part

Files = dict[str, bytes]


def small(**changes: Any) -> dict[str, Any]:
    """Two environments, an agent without a grid and one with.

    Four parts of evaluation behind four of tuning.
    """
    raw: dict[str, Any] = {
        "name": "small",
        "episodes": 60,
        "seeds": 3,
        "checkpoints": 10,
        "envs": {"six_arms": {}, "double_chain": {}},
        "agents": {"random": {}, "q_learning": {"grid": {"transition_scale": [0.01, 0.1]}}},
        "tuning": {"seeds": 2},
    }
    return {**raw, **changes}


def files(folder: Path) -> Files:
    """What a study has computed, by name.

    The spec of its page, the bytes of its parts, and of sidecars, which say when and where, that they are
    there.
    """
    found = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }
    return {name: _content(name, path) for name, path in found.items()}


def _content(name: str, path: Path) -> bytes:
    if name == "study.json":
        return json.dumps(json.loads(path.read_text())["spec"], sort_keys=True).encode()
    return b"" if name.startswith("sidecars/") else path.read_bytes()


def done(raw: dict[str, Any], folder: Path) -> Study:
    """A study that has been run."""
    study = Study(raw, folder)
    study.run("inline")
    return study


def finished(raw: dict[str, Any], folder: Path) -> Files:
    """The files of a study that nothing interrupted."""
    return files(done(raw, folder).store.folder)


def to_table(part: Part) -> pa.Table:
    """What a part holds when it is done."""
    return pq.read_table(io.BytesIO(run_part(part)))


def to_frame(folder: Path) -> pd.DataFrame:
    """All results as pandas reads them, without heavytail."""
    return pd.read_parquet(folder / "parts")


class Notes:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.stages: list[dict[str, Any]] = []
        self.parts: list[str] = []
        self.damaged: dict[str, str] = {}
        self.shares: list[float] = []  # of parts that were being done
        self.words: list[str] = []

    def __call__(self, event: dict[str, Any]) -> None:
        self.events.append(json.loads(json.dumps(event)))
        match event:
            case {"event": "stage"}:
                self.stages.append(event)
            case {"event": "part", "id": part}:
                self.parts.append(part)
            case {"event": "going", "share": share}:
                self.shares.append(share)
            case {"event": "said", "words": words}:
                self.words.append(words)
            case {"event": "damage", "id": part, "what": what}:
                self.damaged[part] = what
