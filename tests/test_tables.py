"""Tables in files: CSV as spreadsheets write it, and small files that would take all memory."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import heavytail as ht
from heavytail.tables import SAMPLE_BYTES, Dialect, find_dialect
from heavytail.tails import read_rewards

LOG = "state,action,reward\na,x,1.5\na,y,-2.25\nb,x,3\nb,y,1e2\n"
EUROPEAN = LOG.replace(",", ";").replace(".", ",")


@pytest.mark.parametrize(
    "text",
    [
        LOG,
        LOG.replace(",", ";"),
        EUROPEAN,
        LOG.replace(",", "\t"),
        EUROPEAN.replace(";", "\t"),
        EUROPEAN.replace("\n", "\r\n"),
        EUROPEAN + "\n\n",
        "\ufeff" + EUROPEAN,
        "\ufeff" + LOG + "\n",
        EUROPEAN.replace("state;action", '"state";"action"').replace("1,5", '"1,5"'),
    ],
)
def test_every_dialect_says_the_same(text: str, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_bytes(text.encode())
    assert read_rewards(file)[()].tolist() == [1.5, -2.25, 3.0, 100.0]
    assert read_rewards(file, by=["state"])["b",].tolist() == [3.0, 100.0]
    found = ht.mdp_from_log(file, state="state", action="action", reward="reward").to_frame()
    assert found.iloc[:, -1].tolist() == [1.5, -2.25, 3.0, 100.0]


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("", Dialect(";")),
        ("reward\n1,5\n", Dialect(";", ",")),  # one column
        ("a;reward\nx;1.234,5\ny;1,5\nz;1.5\n", Dialect(";")),  # neither: the next to read it complains
        ('"a;b;c",reward\nx,1\n', Dialect()),
        ("a;b,c;reward\nx;y;1,5\n", Dialect(";", ",")),
        ("a;reward\n" + "1;2\n" * SAMPLE_BYTES, Dialect(";")),
    ],
)
def test_the_header_tells_the_delimiter_and_rows_the_decimals(
    text: str, dialect: Dialect, tmp_path: Path
) -> None:
    (tmp_path / "log.csv").write_text(text)
    assert find_dialect(tmp_path / "log.csv") == dialect


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5), st.sampled_from([",.", ";.", ";,", "\t,"]))
def test_what_is_written_is_read(numbers: list[float], marks: str) -> None:
    delimiter, decimal = marks[0], marks[1]
    rows = [f"x{delimiter}{number!r}".replace(".", decimal) for number in numbers]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "log.csv"
        file.write_text("\n".join([f"state{delimiter}reward", *rows]))
        np.testing.assert_array_equal(read_rewards(file)[()], numbers)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_other_encodings_are_one_line(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_bytes("état;reward\na;1,5\n".encode(encoding))
    for read in (read_rewards, lambda log: ht.mdp_from_log(log, state="a", action="b", reward="c")):
        with pytest.raises(ht.InputError, match=r"log\.csv is not text in UTF-8; save it as CSV in UTF-8"):
            read(file)


@pytest.mark.parametrize("first", ["1868.41", "1;2,5", "-1e3, 4"])
def test_a_header_is_needed(first: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(f"{first}\n{first}\n")
    with pytest.raises(ht.InputError, match=r"begins with .*; it must begin with the names of its columns"):
        read_rewards(tmp_path / "log.csv")


def test_separators_of_thousands_are_named(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("state;reward\na;12,5\nb;1.234,5\n")
    with pytest.raises(ht.InputError, match=r"column 'reward' is '1\.234,5' in row 2; it must be numbers"):
        read_rewards(file)
    with pytest.raises(ht.InputError, match=r"'reward' is '1\.234,5' in row 2"):
        ht.mdp_from_log(file, state="state", action="state", reward="reward")


def test_a_column_without_any_value_is_one_line_or_a_label(tmp_path: Path) -> None:
    """In a Parquet file it may have a type of its own."""
    file = tmp_path / "log"
    parquet.write_table(pa.table({"s": ["a", "b"], "none": pa.nulls(2), "reward": [1.0, 2.0]}), file)
    assert read_rewards(file, by=["s"])["a",].tolist() == [1.0]
    with pytest.raises(ht.InputError, match=r"'none' .*no value in row 0 and 1 more"):
        ht.mdp_from_log(file, state="s", action="none", reward="reward")
    with pytest.raises(ht.InputError, match="'none' holds values of type null; it must be numbers"):
        read_rewards(file, "none")


@pytest.mark.parametrize("as_dictionary", [False, True])
def test_texts_that_are_not_utf_8_are_one_line(as_dictionary: bool, tmp_path: Path) -> None:
    s = pa.array([b"a", b"na\xefve"], pa.binary()).view(pa.string())
    table = pa.table({"s": s.dictionary_encode() if as_dictionary else s, "reward": [1.0, 2.0]})
    parquet.write_table(table, tmp_path / "log")
    message = "log is not a valid CSV or Parquet table: .*UTF8"
    with pytest.raises(ht.InputError, match=message):
        read_rewards(tmp_path / "log", by=["s"])
    with pytest.raises(ht.InputError, match=message):
        ht.mdp_from_log(tmp_path / "log", state="s", action="s", reward="reward")


# Parquet files that grow

LONG = "x" * (1 << 22)
READ = r"""
import pathlib, re, sys
import heavytail as ht
try:
    if sys.argv[2] == "rewards":
        ht.tails.read_rewards(sys.argv[1], by=["s", "a"])
    else:
        ht.mdp_from_log(sys.argv[1], state="s", action="a", reward="reward")
except ht.InputError as error:
    print(error)
print(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.parametrize("reader", ["rewards", "log"])
@pytest.mark.parametrize("n_groups", [1, 80])
def test_a_small_file_does_not_take_all_memory(n_groups: int, reader: str, tmp_path: Path) -> None:
    """One long text in a thousand rows is read; too many of them are refused."""
    s = pa.DictionaryArray.from_arrays(np.zeros(1024, np.int32), pa.array([LONG]))
    table = pa.table({"s": s, "a": np.zeros(1024, np.int8), "reward": np.zeros(1024)})
    with parquet.ParquetWriter(
        tmp_path / "log", table.schema, compression="zstd", store_schema=False
    ) as writer:
        for _ in range(n_groups):
            writer.write_table(table)
    child = [sys.executable, "-c", READ, str(tmp_path / "log"), reader]
    done = subprocess.run(child, capture_output=True, text=True, check=True)
    *message, most = done.stdout.splitlines()
    assert int(most) < 600_000  # kB
    assert message == [] if n_groups == 1 else "of memory; a table may take" in message[0]
