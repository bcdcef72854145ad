"""A study on disk: a folder that is consistent at every moment.

    study.json               the spec, versions and where it was started
    parts/ID.parquet         the curves of one part
    sidecars/ID.json         its checksum, written after it; who computed it, when and how fast
    resume/ID.npz            intermediate state of a long, unfinished part
    maps.parquet             the summary of sweeps: with it, their parts are not needed
    mdps/DIGEST.npz          an environment given as an object

A part counts if its checksum is there and fits, and it holds the right runs (`heavytail.studies.part_table`).
The folder ``parts`` holds only Parquet files, so that any reader of such folders reads it. Files appear
complete (`heavytail.files`), so that an interruption at any moment leaves either the old state or the new
one. Only data is ever read: no pickle.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from heavytail.errors import InputError
from heavytail.files import make_folder, read_plain, refuse_link, write_whole
from heavytail.studies.part import Part, Phase
from heavytail.studies.part_table import (
    DAMAGE,
    SCHEMA,
    read_table,
    sidecar_problem,
    table_problem,
    table_to_parquet,
    with_keys,
)
from heavytail.studies.plan import Cell, Sweep, unique_parts
from heavytail.studies.specs import given_mdps
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.specs.spec import Spec
from heavytail.tables import require_unpacked_size

FORMAT = 1
TEMPORARY = ".unfinished"
SWEEPS = "maps.parquet"
NOT_DAMAGED = ("missing", "unfinished")  # problems of parts that are still to be computed


class Store:
    """The folder of a study."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.parts = self.folder / "parts"
        self.sidecar_folder = self.folder / "sidecars"
        self.resume_folder = self.folder / "resume"
        self._verified: dict[str, tuple[int, ...]] = {}  # part -> fingerprint of its files when verified

    # The study as a whole

    def exists(self) -> bool:
        """Return whether there is a study."""
        try:
            return (self.folder / "study.json").exists()
        except OSError as error:
            raise InputError(f"{self.folder} cannot be read: {error.strerror}") from None

    def require_writable(self) -> None:
        """Raise InputError if results cannot be added; to a folder they always can."""

    def create(self, spec: Spec, metadata: Mapping[str, Any]) -> None:
        """Start a study here."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be made: {error.strerror}; choose another folder with --out"
            ) from None
        with self.lock():
            if self.exists():
                raise InputError(
                    f"another process has just started a study in {self.folder}; nothing was changed"
                )
            self.keep_mdps(spec)
            self.write_json(
                "study.json", {"format": FORMAT, "spec": spec.model_dump(mode="json"), **metadata}
            )

    def spec(self) -> Spec:
        """Read the study's spec, and register MDPs that were given to it as objects."""
        spec = self.metadata()["spec"]
        for name in given_mdps.given_names(spec):
            self.take_mdp(name)
        return make_spec(spec, where=str(self.folder / "study.json"))

    def keep_mdps(self, spec: Spec) -> None:
        """Write the MDPs given to the study as objects, unless they are already there and correct."""
        for name in given_mdps.given_names(spec.model_dump(mode="json")):
            path, content = self.folder / given_mdps.file_of(name), given_mdps.to_bytes(name)
            if not path.exists() or read_plain(path) != content:
                self.write_file(given_mdps.file_of(name), content)

    def take_mdp(self, name: str) -> None:
        """Register an MDP that was given to the study as an object."""
        given_mdps.take_from_folder(name, self.folder)

    def metadata(self) -> dict[str, Any]:
        """Read study.json: the spec, versions and where it was started."""
        page = self.read_json("study.json")
        if page is None:
            raise InputError(
                f"{self.folder} holds no study; start one with: heavytail run SPEC.toml --out {self.folder}"
            )
        if not isinstance(page, dict) or "spec" not in page:
            raise InputError(f"{self.folder / 'study.json'} is damaged: it does not say what the study is")
        if page.get("format") != FORMAT:
            raise InputError(
                f"{self.folder} has format {page.get('format')}, this version of heavytail reads"
                f" format {FORMAT}"
            )
        return page

    def advice(self) -> str:
        """Return advice for missing parts."""
        if not os.access(self.folder, os.W_OK):
            return f"it cannot continue here, since {self.folder} cannot be written"
        return f"continue with: heavytail resume {self.folder}"

    def report_path(self, name: str) -> Path:
        """Return the default path of the report of the study `name`."""
        return self.folder / "report.html"

    # Files

    def write_json(self, name: str, value: Any) -> None:
        """Write a JSON file atomically."""
        self.write_file(name, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())

    def read_json(self, name: str) -> Any:
        """Read a JSON file; None if it is missing."""
        path = self.folder / name
        try:
            return json.loads(read_plain(path))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def write_file(self, name: str, content: bytes) -> None:
        """Write a file atomically."""
        self._write(self.folder / name, content)

    def read_sweeps(self) -> pa.Table | None:
        """Read the summary of sweeps; None if it is missing or not a Parquet file."""
        path = self.folder / SWEEPS
        try:
            content = read_plain(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        try:
            require_unpacked_size(content)
            return pq.read_table(pa.BufferReader(content))
        except DAMAGE:
            return None

    # Parts

    def write(self, part: Part, content: bytes, metadata: Mapping[str, Any]) -> None:
        """Keep a part: first its content, then the sidecar that makes it count."""
        self._write(self._part_file(part), content)
        sidecar = {
            "sha256": sha256(content).hexdigest(),
            "bytes": len(content),
            "part": part.model_dump(mode="json"),
            **metadata,
        }
        self.write_json(f"sidecars/{part.id}.json", sidecar)
        (self.resume_folder / f"{part.id}.npz").unlink(missing_ok=True)
        self._verified[part.id] = self._fingerprint(part)

    def adopt(self, part: Part, other: "Store") -> bool:
        """Copy a part from another study, if it is there and complete; return whether it was.

        It is then as if it had been computed here: the other study may have other keys.
        """
        if other.integrity_problem(part):
            return False
        table = other.table([part]).cast(SCHEMA)  # read from Parquet, the fields of a map have other names
        [sidecar] = other.sidecars([part])
        about = {name: value for name, value in sidecar.items() if name not in ("sha256", "bytes", "part")}
        self.write(part, table_to_parquet(with_keys(table, part)), about)
        return True

    def integrity_problem(self, part: Part) -> str | None:
        """Find what is wrong with a part: None if nothing, "missing" if it is not there.

        Its checksum is computed once, and again when one of its files has changed.
        """
        content, sidecar = self._part_file(part), self._sidecar_file(part)
        try:
            if not sidecar.exists():
                return "unfinished" if content.exists() else "missing"
            fingerprint = self._fingerprint(part)
            if self._verified.get(part.id) == fingerprint:
                return None
            if problem := self._content_problem(part):
                return problem
        except FileNotFoundError:
            return "deleted"
        except DAMAGE as error:
            return f"unreadable ({str(error)[:80]})"
        self._verified[part.id] = fingerprint
        return None

    def _content_problem(self, part: Part) -> str | None:
        """Find what is wrong with the files of a part."""
        sidecar = json.loads(read_plain(self._sidecar_file(part)))
        content = read_plain(self._part_file(part))
        if sha256(content).hexdigest() != sidecar["sha256"]:
            return "altered"
        try:
            problem = sidecar_problem(part, sidecar) or table_problem(part, read_table(part, content))
        except (pa.ArrowException, OSError, ValueError) as error:  # Arrow's say nothing of the disk
            problem = str(error)[:80]
        return problem and f"altered ({problem})"

    def table(self, parts: Sequence[Part]) -> pa.Table:
        """Read the curves of some parts, one after the other."""
        tables = list(self.columns(parts, SCHEMA.names))
        return pa.concat_tables(tables) if tables else SCHEMA.empty_table()

    def columns(self, parts: Sequence[Part], names: Sequence[str]) -> Iterator[pa.Table]:
        """Read some columns of some parts, one part after the other."""
        for part in parts:
            yield pq.read_table(self._part_file(part), columns=list(names), use_threads=False)

    def sidecars(self, parts: Sequence[Part]) -> list[dict[str, Any]]:
        """Read the sidecars of parts."""
        return [self.read_json(f"sidecars/{part.id}.json") for part in parts]

    def _part_file(self, part: Part) -> Path:
        return self.parts / f"{part.id}.parquet"

    def _sidecar_file(self, part: Part) -> Path:
        return self.sidecar_folder / f"{part.id}.json"

    def _fingerprint(self, part: Part) -> tuple[int, ...]:
        """Return a fingerprint of a part's files, which changes when one is written again."""
        stats = [path.stat() for path in (self._part_file(part), self._sidecar_file(part))]
        return tuple(n for s in stats for n in (s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns))

    # One process at a time

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from working on the study."""
        for path in (self.folder / ".lock", *self._folders()):
            refuse_link(path)
        for folder in self._folders():
            if folder.exists() and not folder.is_dir():
                raise InputError(f"{folder} is not a folder; remove it")
        try:
            handle = (self.folder / ".lock").open("a+b", buffering=0)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written: {error.strerror}") from None
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                handle.truncate(0)
                handle.write(f"pid {os.getpid()} on {os.uname().nodename}".encode())
                self._remove_leftovers()
            except BlockingIOError:
                handle.seek(0)
                owner = handle.read().decode() or "unknown"
                raise InputError(
                    f"another process ({owner}) is working on {self.folder}; wait for it, or stop it"
                ) from None
            except OSError as error:
                raise InputError(f"{self.folder} cannot be written: {error.strerror}") from None
            yield

    def _remove_leftovers(self) -> None:
        """Delete what a killed process was writing."""
        for folder in (self.folder, *self._folders()):
            for left in folder.glob(f".*{TEMPORARY}"):
                left.unlink()

    def _folders(self) -> list[Path]:
        """Return the folders in the study's folder."""
        return [self.parts, self.sidecar_folder, self.resume_folder, self.folder / given_mdps.FOLDER]

    def _write(self, target: Path, content: bytes) -> None:
        try:
            if target.parent != self.folder:
                make_folder(target.parent)
            write_whole(target, lambda out: out.write(content), TEMPORARY)
        except OSError as error:
            kept = f"what is done is kept; when it can be, continue with: heavytail resume {self.folder}"
            advice = kept if self.exists() else "nothing was begun; choose another folder with --out"
            raise InputError(f"{target} cannot be written: {error.strerror}; {advice}") from None


# Stages


class Stage(NamedTuple):
    """A phase of a study: its cells, its parts, and those that are missing."""

    phase: Phase
    cells: list[Cell] | list[Sweep]
    parts: list[Part]
    missing: list[Part]
    damaged: dict[str, str]  # part id -> what is wrong


def find_stage(store: Store, phase: Phase, cells: list[Cell] | list[Sweep]) -> Stage:
    """Find which parts of a phase the store has."""
    parts = unique_parts(cells)
    problems = {part.id: problem for part in parts if (problem := store.integrity_problem(part))}
    damaged = {name: what for name, what in problems.items() if what not in NOT_DAMAGED}
    return Stage(phase, cells, parts, [part for part in parts if part.id in problems], damaged)


def finished_parts(store: Store, phase: Phase, cells: list[Cell] | list[Sweep]) -> list[Part]:
    """List all parts of a phase; an error if the store lacks any."""
    stage = find_stage(store, phase, cells)
    if stage.missing:
        done, every = len(stage.parts) - len(stage.missing), len(stage.parts)
        raise InputError(f"{store.folder}: {done} of {every} parts of the {phase} are done; {store.advice()}")
    return stage.parts
