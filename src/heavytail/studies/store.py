"""A study on disk: a folder that is whole at every moment.

    study.json               the spec, versions and where it was started
    parts/ID.parquet         the curves of one part
    sidecars/ID.json         its checksum, written after it; who computed it, when and how fast
    resume/ID.npz            what a long part that is not done has come to
    maps.parquet             maps, summed up: with it, their parts are not needed

A part counts when its checksum is there and fits. There is nothing but Parquet files in ``parts``, so that
any reader of such folders reads it. Files appear whole (`heavytail.files`), so that an interruption at any
moment leaves either the old state or the new one. Nothing is ever read that is not data: no pickle.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heavytail.errors import InputError
from heavytail.files import write_whole
from heavytail.studies.plan import Part
from heavytail.studies.specs.reading import make_spec
from heavytail.studies.specs.spec import Spec

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
TEMPORARY = ".unfinished"


class Store:
    """The folder of a study."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.parts = self.folder / "parts"
        self.pages = self.folder / "sidecars"
        self.resume_folder = self.folder / "resume"

    # The page that says what it is

    def exists(self) -> bool:
        """Whether there is a study."""
        try:
            return (self.folder / "study.json").exists()
        except OSError as error:
            raise InputError(f"{self.folder} cannot be read: {error.strerror}") from None

    def create(self, spec: Spec, about: Mapping[str, Any]) -> None:
        """Start one."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be made: {error.strerror}; choose another folder with --out"
            ) from None
        with self.locked():
            if self.exists():
                raise InputError(
                    f"another process has just started a study in {self.folder}; nothing was changed"
                )
            self.write_json("study.json", {"format": FORMAT, "spec": spec.model_dump(mode="json"), **about})

    def spec(self) -> Spec:
        """The study's spec."""
        return make_spec(self.about()["spec"], where=str(self.folder / "study.json"))

    def about(self) -> dict[str, Any]:
        """The whole page."""
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

    def write_json(self, name: str, value: Any) -> None:
        """A page of JSON, whole or not at all."""
        self.write_file(name, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())

    def read_json(self, name: str) -> Any:
        """A page of JSON; None if it is not there."""
        path = self.folder / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def write_file(self, name: str, content: bytes) -> None:
        """A file, whole or not at all."""
        self._write(self.folder / name, content)

    def read_file(self, name: str) -> bytes | None:
        """A file; None if it is not there."""
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{self.folder / name} cannot be read: {error.strerror}") from None

    # Parts

    def write(self, part: Part, content: bytes, about: Mapping[str, Any]) -> None:
        """Keep a part: first what it is, then that it is whole."""
        self._write(self.parts / f"{part.id}.parquet", content)
        page = {
            "sha256": sha256(content).hexdigest(),
            "bytes": len(content),
            "part": part.model_dump(mode="json"),
            **about,
        }
        self.write_json(f"sidecars/{part.id}.json", page)
        (self.resume_folder / f"{part.id}.npz").unlink(missing_ok=True)

    def trouble(self, part: Part) -> str | None:
        """What is wrong with a part: None if nothing, "missing" if it is not there."""
        content, page = self.parts / f"{part.id}.parquet", self.pages / f"{part.id}.json"
        try:
            if not page.exists():
                return "unfinished" if content.exists() else "missing"
            expected = json.loads(page.read_text(encoding="utf-8"))["sha256"]
            found = sha256(content.read_bytes()).hexdigest()
        except FileNotFoundError:
            return "deleted"
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            return f"unreadable ({error})"
        return None if found == expected else "altered"

    def table(self, parts: Sequence[Part]) -> "pa.Table":
        """The curves of some parts, one behind the other."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        from heavytail.studies.parts import schema

        tables = [pq.read_table(self.parts / f"{part.id}.parquet") for part in parts]
        return pa.concat_tables(tables) if tables else schema().empty_table()

    def columns(self, parts: Sequence[Part], names: Sequence[str]) -> "Iterator[pa.Table]":
        """Some columns of some parts, one after the other."""
        import pyarrow.parquet as pq

        for part in parts:
            yield pq.read_table(self.parts / f"{part.id}.parquet", columns=list(names), use_threads=False)

    def sidecars(self, parts: Sequence[Part]) -> list[dict[str, Any]]:
        """What is known of how parts were computed."""
        return [self.read_json(f"sidecars/{part.id}.json") for part in parts]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time works on a study."""
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
                who = handle.read().decode() or "unknown"
                raise InputError(
                    f"another process ({who}) is working on {self.folder}; wait for it, or stop it"
                ) from None
            except OSError as error:
                raise InputError(f"{self.folder} cannot be written: {error.strerror}") from None
            yield

    def _remove_leftovers(self) -> None:
        """What a process that was killed was writing."""
        for folder in (self.folder, self.parts, self.pages, self.resume_folder):
            for left in folder.glob(f".*{TEMPORARY}"):
                left.unlink()

    def _write(self, target: Path, content: bytes) -> None:
        try:
            target.parent.mkdir(exist_ok=True)
            write_whole(target, lambda out: out.write(content), TEMPORARY)
        except OSError as error:
            raise InputError(
                f"{target} cannot be written: {error.strerror}; what is done is kept, go on with:"
                f" heavytail resume {self.folder}"
            ) from None
