import os
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from heavytail.errors import InputError
from heavytail.files import read_arrays, read_plain, save_figure, write_arrays, write_whole


def figure(y: float) -> Figure:
    drawn = Figure()
    drawn.add_subplot().plot([0.0, 1.0], [0.0, y])
    return drawn


@pytest.mark.parametrize("name", ["a.svg", "a.pdf", "a.png", "a.PNG"])
def test_the_same_figure_is_the_same_bytes(tmp_path: Path, name: str) -> None:
    assert save_figure(figure(1.0), tmp_path / name) == tmp_path / name
    first = (tmp_path / name).read_bytes()
    save_figure(figure(1.0), tmp_path / name)
    assert (tmp_path / name).read_bytes() == first
    assert list(tmp_path.iterdir()) == [tmp_path / name]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.gif", "'a.gif' is not a name for a picture; it must end in .svg, .pdf or .png"),
        ("none/a.svg", "none/a.svg cannot be written: there is no folder"),
        ("folder.svg", "folder.svg is a folder; name a file in it"),
    ],
)
def test_a_figure_needs_a_known_kind_and_a_folder(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(InputError) as caught:
        save_figure(figure(1.0), tmp_path / name)
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", ["link", "link to a folder", "link to nothing", "fifo", "device"])
def test_a_link_or_a_device_is_not_replaced_by_a_file(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/null") if kind == "device" else tmp_path / "a.npz"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind != "device":
        (tmp_path / "link").write_text("a file of the user")
        path.symlink_to({"link": "link", "link to a folder": str(tmp_path)}.get(kind, "nothing"))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="is a link or a device; name a plain file"):
        write_arrays(path, {"x": np.arange(3)})
    assert sorted(tmp_path.iterdir()) == before
    assert kind == "device" or (tmp_path / "link").exists() == (kind != "fifo")


def test_what_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    """A device may have no end, and a pipe no beginning; the target `links` of the fuzzer has both."""
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "device").symlink_to("/dev/null")
    assert read_plain(tmp_path / "link") == b"content"
    for name, message in (
        ("device", "it is not a plain file"),
        ("", "Is a directory"),
        ("x", "No such file"),
    ):
        with pytest.raises(OSError, match=message):
            read_plain(tmp_path / name)
    with pytest.raises(InputError, match="device cannot be read: it is not a plain file"):
        read_arrays(tmp_path / "device", "agent file")


def test_a_file_larger_than_the_memory_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as out:
        out.truncate(2**42)
    with pytest.raises(InputError, match=r"sparse would take 4\.4 TB of memory"):
        read_plain(tmp_path / "sparse")


def test_an_interrupted_file_is_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, lambda out: out.write(b"old"))
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, _interrupted)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def _interrupted(out: object) -> None:
    raise KeyboardInterrupt


def test_arrays_come_back_and_other_files_are_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_arrays(path, {"x": np.arange(3)})
    assert read_arrays(path, "agent file")["x"].tolist() == [0, 1, 2]
    path.write_text("something else")
    with pytest.raises(InputError, match=r"a\.npz is not a valid agent file"):
        read_arrays(path, "agent file")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_arrays(tmp_path / "b.npz", "agent file")


def test_objects_are_not_pickled(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_arrays(tmp_path / "a.npz", {"a": np.array([object()])})
    assert not list(tmp_path.iterdir())
