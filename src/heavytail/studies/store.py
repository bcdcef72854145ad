"""A study on disk: a folder that is whole at every moment.

    study.json               the spec, versions and where it was started
    choices.json             the chosen point of every grid, once tuning is done
    parts/ID.parquet         the curves of one part
    parts/ID.json            its checksum, written after it; who computed it, when and how fast

A part counts when its checksum is there and fits. Files are written under temporary names, synced and renamed, so that an interruption at any moment leaves either the
old state or the new one. Nothing is ever read that is not data: no pickle.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heavytail.errors import InputError
from heavytail.studies.plan import Part
from heavytail.studies.spec import Spec, spec_of

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1


class Store:
    """The folder of a study."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.parts = self.folder / "parts"

    # The page that says what it is

    def exists(self) -> bool:
        """Whether there is a study."""
        return (self.folder / "study.json").exists()

    def create(self, spec: Spec, about: Mapping[str, Any]) -> None:
        """Start one."""
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be made: {error.strerror}; choose another folder with --out") from None
        self.write_json("study.json", {"format": FORMAT, "spec": spec.model_dump(mode="json"), **about})

    def spec(self) -> Spec:
        """The study's spec."""
        return spec_of(self.about()["spec"], where=str(self.folder / "study.json"))

    def about(self) -> dict[str, Any]:
        """The whole page."""
        page = self.read_json("study.json")
        if page is None:
            raise InputError(f"{self.folder} holds no study; start one with: heavytail run SPEC.toml --out {self.folder}")
        if page.get("format") != FORMAT:
            raise InputError(f"{self.folder} has format {page.get('format')}, this version of heavytail reads format {FORMAT}")
        return page

    def write_json(self, name: str, value: Any) -> None:
        """A page of JSON, whole or not at all."""
        self._write(self.folder / name, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())

    def read_json(self, name: str) -> Any:
        """A page of JSON; None if it is not there."""
        path = self.folder / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {error}") from None

    # Parts

    def write(self, part: Part, content: bytes, about: Mapping[str, Any]) -> None:
        """Keep a part: first what it is, then that it is whole."""
        self._write(self.parts / f"{part.id}.parquet", content)
        page = {"sha256": sha256(content).hexdigest(), "bytes": len(content), "part": part.model_dump(mode="json"), **about}
        self.write_json(f"parts/{part.id}.json", page)

    def trouble(self, part: Part) -> str | None:
        """What is wrong with a part: None if nothing, "missing" if it is not there."""
        content, page = self.parts / f"{part.id}.parquet", self.parts / f"{part.id}.json"
        if not page.exists():
            return "missing" if not content.exists() else "unfinished"
        try:
            expected = json.loads(page.read_text(encoding="utf-8"))["sha256"]
            found = sha256(content.read_bytes()).hexdigest()
        except FileNotFoundError:
            return "deleted"
        except (OSError, ValueError, KeyError, TypeError) as error:
            return f"unreadable ({error})"
        return None if found == expected else "altered"

    def table(self, parts: Sequence[Part]) -> "pa.Table":
        """The curves of some parts, one behind the other."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        from heavytail.studies.work import schema

        tables = [pq.read_table(self.parts / f"{part.id}.parquet") for part in parts]
        return pa.concat_tables(tables) if tables else schema().empty_table()

    def sidecars(self, parts: Sequence[Part]) -> list[dict[str, Any]]:
        """What is known of how parts were computed."""
        return [self.read_json(f"parts/{part.id}.json") for part in parts]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time works on a study."""
        path = self.folder / ".lock"
        try:
            handle = path.open("a+")
        except OSError as error:
            raise InputError(f"{self.folder} cannot be written: {error.strerror}") from None
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                handle.seek(0)
                raise InputError(
                    f"another process ({handle.read().strip() or 'unknown'}) is working on {self.folder}; wait for it, or stop it"
                ) from None
            handle.truncate(0)
            handle.write(f"pid {os.getpid()}")
            handle.flush()
            yield

    def _write(self, target: Path, content: bytes) -> None:
        try:
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
            try:
                with os.fdopen(handle, "wb") as out:
                    out.write(content)
                    out.flush()
                    os.fsync(out.fileno())
                Path(temporary).chmod(0o644)
                Path(temporary).replace(target)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise InputError(
                f"{target} cannot be written: {error.strerror}; what is done is kept, go on with: heavytail resume {self.folder}"
            ) from None
