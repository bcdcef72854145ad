"""Files written whole or not at all: any bytes, arrays as ``.npz``, figures as SVG, PDF or PNG."""

import errno
import math
import os
import secrets
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt

from heavytail.checks import require_memory
from heavytail.errors import InputError, short_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

PARQUET = b"PAR1"  # begins a Parquet file
DPI = 150
# Without dates and versions the same figure is the same bytes.
METADATA: dict[str, dict[str, str | None]] = {
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
}
_rc_lock = Lock()  # matplotlib's settings are one dictionary for all threads


def write_whole(target: Path, write: Callable[[BinaryIO], object], suffix: str = "") -> None:
    """Write a file under a temporary name, sync it and rename it.

    An interruption leaves the old file as it was. The temporary name ends in `suffix`.
    """
    # Named before it is created, so that no interruption can leave it behind.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}{suffix}")
    try:
        with temporary.open("xb") as out:
            write(out)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def one_line_write_errors(target: Path) -> Iterator[None]:
    """Turn errors in writing a file into one line; refuse to replace links and devices."""
    try:
        if target.is_dir() and not target.is_symlink():
            raise InputError(f"{target} is a folder; name a file in it")
        if target.is_symlink() or (target.exists() and not target.is_file()):
            raise InputError(f"{target} is a link or a device; name a plain file, or a new one")
        yield
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from error


def make_folder(folder: Path) -> None:
    """Make a folder if it is missing; follow no link, which may lead anywhere in a shared folder."""
    refuse_link(folder)
    folder.mkdir(parents=True, exist_ok=True)


def refuse_link(path: Path) -> None:
    """Raise InputError if a path is a link."""
    if path.is_symlink():
        raise InputError(f"{path} is a link, and links are not followed here; replace it by its target")


def read_plain(path: Path) -> bytes:
    """Read a whole file that others may have put there."""
    with open_plain(path) as source:
        return source.read()


def open_plain(path: Path) -> BinaryIO:
    """Open a file to read, if it is one: a pipe may never begin, and a device never end.

    Raises:
        OSError: it cannot be opened, or is no plain file.
        InputError: it does not fit in memory.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _require_plain(path, os.fstat(handle))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _require_plain(path: Path, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a plain file", os.fspath(path))
    require_memory(f"{path}", found.st_size)


def write_arrays(path: str | os.PathLike[str], arrays: Arrays) -> None:
    """Write an ``.npz`` file, or leave the old one as it was."""
    target = Path(path)
    with one_line_write_errors(target):
        write_whole(target, lambda out: pack_arrays(out, arrays))


def pack_arrays(out: BinaryIO, arrays: Arrays) -> None:
    """Write the content of an ``.npz`` file to an open file, or to memory."""
    # Arrays are stored, not deflated: they are mostly noise, and loading should be fast. `np.savez` would do
    # the same, but only newer versions of NumPy can be told not to pickle objects.
    with zipfile.ZipFile(out, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_arrays(path: str | os.PathLike[str], what: str, only: str | None = None) -> Arrays:
    """Read an ``.npz`` file, or one array of it; anything wrong with it raises a one-line error.

    The error names `what` it should be.
    """
    target = Path(path)
    try:
        with open_plain(target) as source:
            return unpack_arrays(source, only)
    except OSError as error:
        raise InputError(f"{target} cannot be read: {error.strerror or error}") from error
    except Exception as error:
        why = short_text(next(iter(str(error).splitlines()), type(error).__name__))
        raise InputError(f"{target} is not a valid {what}: {why}") from error


def unpack_arrays(source: BinaryIO, only: str | None = None) -> Arrays:
    """Read the content of an ``.npz`` file, or one array of it, from an open file or from memory."""
    size = source.seek(0, os.SEEK_END)
    with zipfile.ZipFile(source) as archive:
        _check_unpacked_size(archive, size)
        return {
            name: _read_array(archive, entry)
            for entry in archive.filelist
            if (name := entry.filename.removesuffix(".npy")) == (only or name)
        }


def _check_unpacked_size(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse a file that would be larger unpacked; `write_arrays` does not compress."""
    unpacked = sum(entry.file_size for entry in archive.filelist)
    if unpacked > size:
        raise InputError(f"its {size:,} bytes would unpack to {unpacked:,}")
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.filelist):
        raise InputError("it is compressed")  # and may unpack to more than it claims


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """Read an array, if its header claims no more data than the file has."""
    npy = np.lib.format
    with archive.open(entry) as stored:
        # NumPy has a function for each version of the header; the one for version 3 is not public.
        old = npy.read_magic(stored) == (1, 0)
        header = npy.read_array_header_1_0(stored) if old else npy.read_array_header_2_0(stored)
        shape, is_fortran, dtype = header
        if dtype.hasobject:
            raise InputError("Object arrays cannot be loaded when allow_pickle=False")
        if math.prod(shape) * dtype.itemsize != entry.file_size - stored.tell():
            raise InputError(f"{entry.filename} is not as long as its header says")
        return np.ndarray(shape, dtype, bytearray(stored.read()), order="F" if is_fortran else "C")


def save_figure(figure: "Figure", path: str | os.PathLike[str]) -> Path:
    """Write a figure as SVG, PDF or PNG, by the file's suffix: the same bytes for the same figure.

    Args:
        figure: any matplotlib figure.
        path: where to; it ends in ``.svg``, ``.pdf`` or ``.png``.

    Returns:
        The path.
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in METADATA:
        raise InputError(f"{target.name!r} is not a name for a picture; it must end in .svg, .pdf or .png")
    if not target.parent.is_dir():
        raise InputError(f"{target} cannot be written: there is no folder {target.parent}")
    with one_line_write_errors(target):
        write_whole(target, lambda out: write_figure(figure, out, kind[1:]))
    return target


def write_figure(
    figure: "Figure", out: BinaryIO, kind: str, settings: Mapping[str, str] | None = None
) -> None:
    """Write a figure as svg, pdf or png, with the given matplotlib settings."""
    import matplotlib as mpl  # here, because it is slow to import and most files are not figures

    options: dict[str, Any] = {"format": kind, "dpi": DPI, "metadata": METADATA[f".{kind}"]}
    chosen: dict[Any, Any] = {"svg.hashsalt": "heavytail", **(settings or {})}
    with _rc_lock, mpl.rc_context(chosen):
        figure.savefig(out, **options)
