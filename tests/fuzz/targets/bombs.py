"""Files that hold far more than they seem to: studies, parts, lists, logs and agents of a few kilobytes.

In a Parquet file a long text is stored once and repeated in many rows; a packed study names one long
description for many parts; an archive is compressed.
"""

import io
import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import heavytail as ht
from fuzz.mutation import Generator
from fuzz.targets.logs import diagnose
from fuzz.targets.parts import Whole, run_whole, use, with_checksum, write_folder
from heavytail.studies import packed
from heavytail.studies.sweeps import KEY

SHARE = 0.1
COLUMNS = ("state", "action", "then", "group")
LOG: dict[str, Any] = {"state": "state", "action": "action", "reward": "reward", "next_state": "then"}


class Size(NamedTuple):
    """How large a bomb is: so many repetitions of so many characters."""

    times: int
    length: int

    def text(self) -> str:
        """Return the characters."""
        return "x" * self.length


def start(folder: Path) -> Callable[[Generator], None]:
    """Run a small study, save an agent, and read a log of each kind, so that all is imported."""
    whole, agent = run_whole(folder), folder / "agent.npz"
    ht.make_online(2, 2, "q_learning", seed=0, horizon=1).save(agent)
    kinds: list[Callable[[Size, Generator], None]] = [
        partial(open_packed, whole, folder),
        partial(open_list_of_parts, whole, folder),
        partial(open_folder, whole, folder),
        partial(diagnose_by, folder / "log.parquet"),
        partial(read_log, folder / "log.parquet"),
        partial(load_agent, folder / "bomb.npz", agent.read_bytes()),
    ]
    for use_log in kinds[3:5]:
        use_log(Size(200, 5), np.random.default_rng(0))
    return partial(try_one, kinds)


def try_one(kinds: list[Callable[[Size, Generator], None]], rng: Generator) -> None:
    """Use a file of a size between harmless and terabytes."""
    size = Size(2 ** int(rng.integers(21)), 2 ** int(rng.integers(21)))
    kinds[int(rng.integers(len(kinds)))](size, rng)


def open_packed(whole: Whole, folder: Path, size: Size, rng: Generator) -> None:
    """Open a packed study with a long text in a column."""
    path = folder / "bomb.parquet"
    path.write_bytes(swell(whole.packed, size, rng))
    use(path, folder, report=False)


def open_list_of_parts(whole: Whole, folder: Path, size: Size, rng: Generator) -> None:
    """Open a packed study that names a long description of who made it for many parts."""
    file = pq.ParquetFile(io.BytesIO(whole.packed))
    header = json.loads(file.metadata.metadata[KEY])
    del header["digest"]
    words = {f"word {i}": "x" * 100 for i in range(size.length >> 8)}
    header["made"].append({**header["made"][0], **words})
    parts = [[str(i), 0, 0.0, len(header["made"]) - 1] for i in range(size.times >> 4)]
    path = folder / "bomb.parquet"
    path.write_bytes(
        packed.to_parquet(
            file.read().replace_schema_metadata(None), {**header, "parts": header["parts"] + parts}
        )
    )
    use(path, folder, report=False)


def open_folder(whole: Whole, folder: Path, size: Size, rng: Generator) -> None:
    """Open a folder with a long text in a part, or in the summary of sweeps."""
    names = [name for name in whole.files if name.endswith(".parquet")]
    name = names[int(rng.integers(len(names)))]
    write_folder(whole, with_checksum(whole.files, name, swell(whole.files[name], size, rng)))
    use(whole.folder, folder, report=False)


def diagnose_by(path: Path, size: Size, rng: Generator) -> None:
    """Diagnose the rewards of a log by a column of long texts."""
    write_log(path, size, rng)
    column = COLUMNS[int(rng.integers(len(COLUMNS)))]
    diagnose(path, ["--by", column])


def read_log(path: Path, size: Size, rng: Generator) -> None:
    """Make an MDP from a log with long texts."""
    write_log(path, size, rng)
    ht.mdp_from_log(path, **LOG, horizon=5, unvisited="stay")


def write_log(path: Path, size: Size, rng: Generator) -> None:
    """Write a log in which one or all labels are a long text, stored once."""
    rewards = np.resize(np.random.default_rng(0).standard_t(1.5, 1000), max(size.times, 100))
    long = repeated(size.text(), len(rewards))
    short = repeated("a", len(rewards))
    chosen = COLUMNS if rng.random() < 0.3 else {str(rng.choice(COLUMNS))}
    columns: dict[str, Any] = {name: long if name in chosen else short for name in COLUMNS}
    with pq.ParquetWriter(path, pa.table({"reward": rewards, **columns}).schema, compression="zstd") as out:
        out.write_table(pa.table({"reward": rewards, **columns}))


def load_agent(path: Path, content: bytes, size: Size, rng: Generator) -> None:
    """Load a file of an agent that is compressed, with long arrays of zeros."""
    with (
        zipfile.ZipFile(io.BytesIO(content)) as whole,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb,
    ):
        for entry in whole.filelist:
            longer = bytes(min(size.times * size.length, 2**26)) if rng.random() < 0.2 else b""
            bomb.writestr(entry.filename, whole.read(entry) + longer)
    ht.load(path)


def swell(content: bytes, size: Size, rng: Generator) -> bytes:
    """Put a long text into a column of many rows, which is stored once."""
    table, out = pq.read_table(io.BytesIO(content)), io.BytesIO()
    name = str(rng.choice([field.name for field in table.schema if pa.types.is_string(field.type)]))
    swollen = table.take(pa.array(np.zeros(size.times, np.int32)))
    column = repeated(size.text(), size.times)
    swollen = swollen.set_column(table.column_names.index(name), name, column)
    with pq.ParquetWriter(out, swollen.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(swollen)
        writer.add_key_value_metadata(table.schema.metadata or {})
    return out.getvalue()


def repeated(text: str, times: int) -> pa.DictionaryArray:
    """Return a text repeated, but stored once."""
    return pa.DictionaryArray.from_arrays(np.zeros(times, np.int32), pa.array([text]))
