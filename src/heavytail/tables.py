"""Tables in files: columns of CSV and Parquet, read with a limit on memory.

A Parquet file of a few bytes may hold a long text and repeat it in a million rows. So texts are read as
dictionaries, which hold each text once, and the memory for the columns is computed from the file's header and
again while they are read. A table may take `SMALL_TABLE` bytes, or `MAX_GROWTH` times its file if that is
more.

CSV files are read in the dialects of spreadsheets, which in many countries write 1,5;2,5.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heavytail.checks import require_memory
from heavytail.errors import MAX_CHOICES, InputError, and_more, one_line, short_repr, show_bytes
from heavytail.files import PARQUET

if TYPE_CHECKING:
    import pyarrow as pa

SMALL_TABLE = 1 << 28
MAX_GROWTH = 1000
COPIES = 4  # of the data in memory, while it is put in order
DELIMITERS = (",", ";", "\t")
SAMPLE_BYTES = 1 << 16
QUOTED = re.compile('"[^"]*"')
NUMBERS = r"[\d\s.,;eE+-]*\d[\d\s.,;eE+-]*"
NUMBER = r"\s*[+-]?\d+{}\d+(?:[eE][+-]?\d+)?\s*"
WHOLE_NUMBER = r"^[+-]?\d+$"


def read_columns(
    path: Path, numbers: Sequence[str], labels: Sequence[str], *, guess_types: bool = False
) -> "pa.Table":
    """Read columns of a CSV or Parquet file.

    Args:
        path: the file; its first bytes tell whether it is Parquet.
        numbers: columns of numbers. In a Parquet file they may have any type.
        labels: other columns. Texts become dictionary arrays, and all labels of a CSV file are texts.
        guess_types: convert such a column if all its texts are numbers, or all are true or false. An empty
            text then counts as missing.

    Raises:
        InputError: the file cannot be read, has no such column, or would take too much memory.
    """
    names = list(dict.fromkeys((*numbers, *labels)))
    with _one_line_errors(path):
        if _is_parquet(path):
            return _read_parquet(path, names)
        return _read_csv(path, names, numbers, guess_types=guess_types)


def require_columns(table: str, names: Sequence[str], there: Sequence[str]) -> None:
    """Refuse a table in which a column is missing or appears twice."""
    for name in names:
        if name not in there:
            shown = ", ".join(map(repr, there[:MAX_CHOICES])) + and_more(len(there) - MAX_CHOICES)
            raise InputError(f"{table} has no column {name!r}; its columns are {shown}")
        if (n := there.count(name)) > 1:
            raise InputError(f"{table} has {n} columns {name!r}; rename all but one of them")


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    from pyarrow import ArrowException  # here and below, because importing it takes a while

    try:
        yield
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; name one CSV or Parquet file in it") from None
    except (ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a valid CSV or Parquet table: {one_line(error)}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or one_line(error)}") from None


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as opened:
        start = opened.read(len(PARQUET))
    if not start:
        raise InputError(f"{path} is empty; it must be a table as CSV or Parquet")
    return start == PARQUET


# Parquet


def _read_parquet(path: Path, names: list[str]) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import parquet

    schema = parquet.read_schema(path)
    require_columns(f"{path}", names, schema.names)
    for name in names:
        if pa.types.is_nested(schema.field(name).type):
            raise InputError(f"{path}: column {name!r} holds lists or tables; it must be numbers or texts")
    texts = [name for name in names if _is_text(schema.field(name).type)]
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        taken = _bytes_without_texts(file.metadata.num_rows, [schema.field(name).type for name in names])
        _require_size(path, file.metadata.num_rows, taken + _bytes_of_texts(file.metadata, texts))
        groups = [file.schema_arrow.empty_table().select(names)]
        for i in range(file.metadata.num_row_groups):
            groups.append(file.read_row_group(i, columns=names))
            taken += sum(_dictionary_bytes(groups[-1][name]) for name in texts)
            _require_size(path, file.metadata.num_rows, taken)
            for name in texts:
                groups[-1][name].validate(full=True)  # that texts are UTF-8
    return pa.concat_tables(groups).replace_schema_metadata(None)


def _is_text(kind: "pa.DataType") -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    of_bytes = (types.is_binary, types.is_large_binary, types.is_binary_view)
    return any(is_kind(kind) for is_kind in texts + of_bytes)


def _bytes_without_texts(rows: int, kinds: "Iterable[pa.DataType]") -> int:
    return rows * sum(map(_bytes_of_a_value, kinds))


def _bytes_of_a_value(kind: "pa.DataType") -> int:
    from pyarrow import types

    return 8 if _is_text(kind) or types.is_null(kind) else max(8, kind.bit_width // 8)


def _bytes_of_texts(metadata: Any, texts: list[str]) -> int:
    """Count the bytes of the texts of a file, from its header."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    columns = [group.column(i) for group in groups for i in range(group.num_columns)]
    return sum(c.total_uncompressed_size for c in columns if c.path_in_schema in texts)


def _dictionary_bytes(column: "pa.ChunkedArray") -> int:
    return sum(chunk.dictionary.nbytes for chunk in column.chunks)


def _require_size(path: Path, rows: int, n_bytes: int) -> None:
    size = path.stat().st_size
    if n_bytes > max(SMALL_TABLE, MAX_GROWTH * size):
        raise InputError(
            f"{path}: its {size:,} bytes would take {show_bytes(n_bytes)} of memory; a table may take"
            f" {show_bytes(SMALL_TABLE)}, or {MAX_GROWTH:,} times its file"
        )
    require_memory(f"{path}: {rows:,} rows", COPIES * n_bytes)


def require_unpacked_size(content: bytes, most: float = math.inf) -> None:
    """Raise ValueError if a Parquet file would take more than `most` bytes, or than a table may.

    Texts are counted once per row, which a dictionary in the file does not show.
    """
    import pyarrow as pa
    from pyarrow import parquet

    most = min(most, max(SMALL_TABLE, MAX_GROWTH * len(content)))
    metadata = parquet.read_metadata(pa.BufferReader(content))
    columns = [metadata.schema.column(i) for i in range(metadata.num_columns)]
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    taken = _bytes_of_texts(metadata, texts)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for i, column in enumerate(columns):
            taken += max(group.num_rows, group.column(i).num_values) * max(8, column.length)
    with parquet.ParquetFile(pa.BufferReader(content), read_dictionary=texts) as file:
        for i in range(metadata.num_row_groups):
            if taken <= most:
                table = file.read_row_group(i)
                taken += sum(_text_bytes(chunk) for column in table.columns for chunk in column.chunks)
    if taken > most:
        raise ValueError(f"it would take more than {show_bytes(most)} of memory")
    require_memory("its content", COPIES * taken)


def _text_bytes(array: "pa.Array") -> int:
    """Count the bytes of all texts in an array of dictionaries, or in a map of them."""
    from pyarrow import compute, types

    if types.is_dictionary(array.type):
        lengths = compute.binary_length(array.dictionary).cast("int64")
        return compute.sum(lengths.take(array.indices)).as_py() or 0
    if types.is_map(array.type):
        return _text_bytes(array.keys) + _text_bytes(array.items)
    if types.is_nested(array.type):
        raise ValueError("it holds lists or tables")
    return 0


# CSV


class Dialect(NamedTuple):
    """The delimiter and the decimal mark of a CSV file."""

    delimiter: str = ","
    decimal: str = "."


def find_dialect(file: Path) -> Dialect:
    """Find the dialect of a file from its header and its first rows.

    The delimiter is the most frequent one in the header; if it is not a comma, the decimal mark may be one.
    """
    with file.open("rb") as opened:
        sample = opened.read(SAMPLE_BYTES)
    whole = sample if len(sample) < SAMPLE_BYTES else sample[: sample.rfind(b"\n") + 1]
    try:
        lines = whole.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{file} is not text in UTF-8; save it as CSV in UTF-8") from None
    header = QUOTED.sub("", lines[0]) if lines else ""
    if re.fullmatch(NUMBERS, header):
        raise InputError(
            f"{file} begins with {short_repr(header)}; it must begin with the names of its columns"
        )
    delimiter = max(DELIMITERS, key=header.count)
    if delimiter not in header:  # a single column, in which a comma is the decimal mark or an error
        delimiter = ";"
    return Dialect(delimiter, "." if delimiter == "," else _find_decimal(lines[1:], delimiter))


def _find_decimal(rows: list[str], delimiter: str) -> str:
    fields = [field.strip('"') for row in rows for field in row.split(delimiter)]
    with_comma, with_point = (
        any(re.fullmatch(NUMBER.format(mark), field) for field in fields) for mark in (",", r"\.")
    )
    return "," if with_comma and not with_point else "."


def _read_csv(path: Path, names: list[str], numbers: Sequence[str], *, guess_types: bool) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import csv

    require_memory(f"{path}", path.stat().st_size)
    dialect = find_dialect(path)
    parsing = csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True)
    with csv.open_csv(path, parse_options=parsing) as opened:
        require_columns(f"{path}", names, opened.schema.names)

    def read(columns: list[str], number: "pa.DataType") -> "pa.Table":
        label = pa.dictionary(pa.int32(), pa.string())
        options = csv.ConvertOptions(
            include_columns=columns,
            column_types={name: number if name in numbers else label for name in columns},
            decimal_point=dialect.decimal,
            strings_can_be_null=guess_types,
        )
        return csv.read_csv(path, parse_options=parsing, convert_options=options)

    try:
        table = read(names, pa.float64())
    except pa.ArrowInvalid:  # its message names neither the row nor the column of a bad word
        words = read(list(dict.fromkeys(numbers)), pa.string())
        for name in numbers:
            _check_words(words[name].to_pylist(), dialect.decimal, f"{path}: column {name!r}")
        raise
    if guess_types:
        for i, name in enumerate(names):
            if name not in numbers:
                table = table.set_column(i, name, _guess_type(table[name], dialect.decimal))
    return table


def _check_words(words: Iterable[str | None], decimal: str, where: str) -> None:
    for i, word in enumerate(words):
        try:
            float((word or "0").replace(decimal, "."))
        except ValueError:
            raise InputError(f"{where} is {short_repr(word)} in row {i + 1}; it must be numbers") from None


def _guess_type(column: "pa.ChunkedArray", decimal: str) -> "pa.Array":
    """Convert texts to numbers, or to true and false, if all of them are."""
    import pyarrow as pa
    from pyarrow import compute

    texts = column.unify_dictionaries().combine_chunks()
    words = compute.utf8_trim_whitespace(texts.dictionary)
    if decimal != ".":
        words = compute.replace_substring(words, decimal, ".")
    is_whole = compute.all(compute.match_substring_regex(words, WHOLE_NUMBER), min_count=0).as_py()
    # Whole numbers too long for 64 bits stay texts: as floats, different ones could become equal.
    for kind in (pa.int64(), pa.uint64(), *(() if is_whole else (pa.float64(), pa.bool_()))):
        try:
            return words.cast(kind).take(texts.indices)
        except pa.ArrowInvalid:
            continue
    return texts
