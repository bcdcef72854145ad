"""A finished study as one Parquet file, which `Study.open` reads like a folder.

Its rows are those of all parts of tuning and evaluation, one part after the other, with the same columns. A
study with sweeps has more rows, of phase "map", one for every point of every sweep in every environment: the
summary of sweeps, in columns called ``sweep_...``. The other columns are empty there, and these are empty in
the rows above. The curves of sweeps are left out.

The rest of the folder is in the metadata of the file, as JSON under the key ``heavytail``:

    study      study.json
    parts      the parts in the order of their rows: id, number of rows, seconds, and by which entry of `made`
    made       who computed parts, with what: equal sidecars appear once
    sweeps     what the summary of sweeps was made from, if any
    mdps       environments given as objects, if any: their files in Base64
    digest     of all the rest, and of the values in all rows

Any reader of Parquet files reads the rows. A packed study is never changed: it cannot be run or resumed.
"""

import io
import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from heavytail.checks import as_count
from heavytail.errors import InputError, one_line, show_bytes
from heavytail.files import one_line_write_errors, write_whole
from heavytail.studies.part import Part
from heavytail.studies.part_table import (
    DAMAGE,
    SCHEMA,
    is_sidecar,
    sidecar_problem,
    table_problem,
    values_digest,
    with_keys,
)
from heavytail.studies.provenance import PER_PART
from heavytail.studies.specs import given_mdps
from heavytail.studies.specs.spec import canonical
from heavytail.studies.store import TEMPORARY, Store
from heavytail.studies.sweeps import KEY
from heavytail.tables import require_unpacked_size

RESULTS = ("results.parquet", "results-large.parquet")  # of a published study; the latter not in the wheel
PREFIX = "sweep_"  # of the columns of the summary of sweeps
LEVEL = 19  # of compression: written once, read often
FLOATS = ("mean_reward", "realised_reward", "regret")
MAX_MDP_BYTES = 6 * 10**7  # of all MDPs: readers of Parquet refuse metadata of more than 100 MB


def open_store(path: str | Path) -> Store:
    """Open a study: a folder, a packed file, or a folder with such a file."""
    folder = Path(path)
    try:
        if folder.is_file():
            return PackedStore(folder)
        packed = find_results(folder)
        return PackedStore(packed) if packed and not Store(folder).exists() else Store(folder)
    except (OSError, ValueError) as error:  # a name too long, or with a zero in it
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def find_results(folder: Path) -> Path | None:
    """Find the results published in a folder, beside the spec."""
    return next((path for name in RESULTS if (path := folder / name).is_file()), None)


def require_study(path: str | Path) -> Store:
    """Open a study, or raise InputError if there is none."""
    store = open_store(path)
    store.metadata()
    return store


def pack_study(
    store: Store, study: Mapping[str, Any], parts: Sequence[Part], sweeps: pa.Table | None, target: Path
) -> None:
    """Write a finished study into one file.

    Args:
        store: the store of the study.
        study: the content of study.json.
        parts: all parts of its tuning and evaluation, which must be there.
        sweeps: the summary of its sweeps, with its metadata.
        target: the file to write.
    """
    tables = [with_keys(store.table([part]), part) for part in parts]
    made: dict[str, int] = {}
    listed = []
    for part, table, sidecar in zip(parts, tables, store.sidecars(parts), strict=True):
        same = canonical({key: value for key, value in sidecar.items() if key not in PER_PART})
        listed.append([part.id, len(table), sidecar["seconds"], made.setdefault(same, len(made))])
    header: dict[str, Any] = {"study": study, "parts": listed, "made": [json.loads(each) for each in made]}
    if mdps := _mdp_files(study):
        header["mdps"] = mdps
    if sweeps is not None:
        header["sweeps"] = json.loads(sweeps.schema.metadata[KEY])
        tables.append(_sweep_rows(sweeps))
    try:
        content = to_parquet(pa.concat_tables(tables, promote_options="default"), header)
    except ValueError as error:  # such as NaN in what study.json says
        raise InputError(f"{store.folder} cannot be packed: {one_line(error)}") from None
    with one_line_write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, lambda out: out.write(content), TEMPORARY)


def _mdp_files(study: Mapping[str, Any]) -> dict[str, str]:
    """Return the files of the MDPs given to a study as objects, by name."""
    files = {name: given_mdps.to_bytes(name) for name in given_mdps.given_names(study["spec"])}
    if (size := sum(map(len, files.values()))) > MAX_MDP_BYTES:
        raise InputError(
            f"its MDPs take {show_bytes(size)}, and a packed study holds {show_bytes(MAX_MDP_BYTES)} of them;"
            " keep its folder"
        )
    return {name: b64encode(content).decode() for name, content in files.items()}


def _sweep_rows(sweeps: pa.Table) -> pa.Table:
    """Return the summary of sweeps as rows of phase "map"."""
    named = sweeps.rename_columns([f"{PREFIX}{name}" for name in sweeps.column_names])
    phase = pa.array(["map"] * len(sweeps), pa.string())
    return named.replace_schema_metadata(None).append_column("phase", phase)


def to_parquet(table: pa.Table, header: Mapping[str, Any]) -> bytes:
    """Return the bytes of a file with these rows and this header, adding the digest."""
    out = io.BytesIO()
    floats = [name for name in FLOATS if name in table.column_names]
    texts = [name for name in table.column_names if name not in floats]
    with pq.ParquetWriter(
        out,
        table.schema,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=texts,
        use_byte_stream_split=floats,  # curves take a third less
        store_schema=False,  # Arrow's own form of it would be a copy
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({KEY: json.dumps({**header, "digest": _digest(table, header)})})
    return out.getvalue()


def _digest(table: pa.Table, header: Mapping[str, Any]) -> str:
    """Compute a digest of everything that is read from a file."""
    return sha256(f"{values_digest(table)} {canonical(header)}".encode()).hexdigest()


class _Content(NamedTuple):
    """The contents of a packed file."""

    table: pa.Table
    study: dict[str, Any]
    places: dict[str, tuple[int, int]]  # part -> its first row, and how many it has
    sidecars: dict[str, dict[str, Any]]  # without their parts
    sweeps: dict[str, Any] | None
    mdps: dict[str, str]


class PackedStore(Store):
    """A study in one file; the file's path is its `folder`."""

    def exists(self) -> bool:
        """Return True: if there is no study here, reading it raises the error."""
        return True

    def require_writable(self) -> NoReturn:
        """Raise InputError: a packed study cannot be changed."""
        raise InputError(
            f"{self.folder} is a packed study, which cannot be run or resumed; run its spec into a folder"
            " with: heavytail run SPEC.toml"
        )

    def take_mdp(self, name: str) -> None:
        """Register an MDP that was given to the study as an object."""
        try:
            content = b64decode(self._content.mdps[name], validate=True)
        except (KeyError, TypeError, ValueError):
            raise self._unreadable(ValueError(f"it does not hold {name}")) from None
        given_mdps.take(name, content, str(self.folder))

    def read_json(self, name: str) -> Any:
        """Read what was a JSON file of the folder; None if there was none."""
        return self._content.study if name == "study.json" else None

    def sidecars(self, parts: Sequence[Part]) -> list[dict[str, Any]]:
        """Return how parts were computed."""
        return [{**self._content.sidecars[part.id], "part": part.model_dump(mode="json")} for part in parts]

    def advice(self) -> str:
        """Return advice for missing parts."""
        return "it was packed by another version of heavytail; run its spec with: heavytail run SPEC.toml"

    def report_path(self, name: str) -> Path:
        """Return the path of the report, as if the study had been run here."""
        return Path("results") / name / "report.html"

    def integrity_problem(self, part: Part) -> str | None:
        """Find what is wrong with a part: None if nothing, "missing" if it is not there.

        A part that does not hold its runs is an error: a packed study cannot be repaired.
        """
        if part.id not in self._content.places:
            return "missing"
        if part.id not in self._verified:
            [sidecar], table = self.sidecars([part]), self._part_table(part)
            if problem := sidecar_problem(part, sidecar) or table_problem(part, table):
                raise self._unreadable(ValueError(f"part {part.id}: {problem}"))
            self._verified[part.id] = ()
        return None

    def columns(self, parts: Sequence[Part], names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield some columns of some parts, one part after the other."""
        for part in parts:
            yield self._part_table(part).select(list(names))

    def read_sweeps(self) -> pa.Table | None:
        """Read the summary of sweeps; None if there is none."""
        table, places = self._content.table, self._content.places.values()
        if self._content.sweeps is None:
            return None
        names = [name for name in table.column_names if name.startswith(PREFIX)]
        rows = table.select(names).slice(sum(n for _, n in places))
        named = rows.rename_columns([name.removeprefix(PREFIX) for name in names])
        return named.replace_schema_metadata({KEY: canonical(self._content.sweeps)})

    def _part_table(self, part: Part) -> pa.Table:
        return self._content.table.select(SCHEMA.names).slice(*self._content.places[part.id])

    @cached_property
    def _content(self) -> _Content:
        try:
            content = self.folder.read_bytes()
        except OSError as error:
            raise InputError(f"{self.folder} cannot be read: {error.strerror}") from None
        try:
            return _read_packed(content)
        except DAMAGE as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> InputError:
        if self.folder.suffix == ".toml":
            return InputError(
                f"{self.folder} is a spec, not a study; run it with: heavytail run {self.folder}"
            )
        reason = " ".join(str(error).split())
        return InputError(
            f"{self.folder} is not a packed study, or damaged ({reason:.80}); heavytail pack FOLDER makes one"
        )


def _read_packed(content: bytes) -> _Content:
    """Read a file and verify its digest."""
    file = pq.ParquetFile(pa.BufferReader(content))
    text = (file.metadata.metadata or {}).get(KEY)
    if text is None:
        raise ValueError("it has no header of heavytail")
    header = json.loads(text)
    digest = header.pop("digest")
    if not all(map(is_sidecar, header["made"])):
        raise ValueError("it does not say who computed its parts")
    places, sidecars, row = dict[str, tuple[int, int]](), dict[str, dict[str, Any]](), 0
    for part, rows, seconds, made in header["parts"]:
        places[str(part)] = (row, as_count("rows", rows))
        sidecars[str(part)] = {**header["made"][made], "seconds": seconds}
        row += rows
    if row > file.metadata.num_rows:
        raise ValueError("it has fewer rows than its parts")
    require_unpacked_size(content)
    table = file.read().replace_schema_metadata(None)
    if not table.select(SCHEMA.names).schema.equals(SCHEMA):
        raise ValueError("its columns are wrong")
    if _digest(table, header) != digest:
        raise ValueError("its digest does not fit")
    return _Content(
        table, dict(header["study"]), places, sidecars, header.get("sweeps"), dict(header.get("mdps", {}))
    )
