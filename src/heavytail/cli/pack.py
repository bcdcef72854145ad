"""The command ``heavytail pack``."""

from pathlib import Path
from typing import Annotated

import typer

from heavytail.cli.app import app, one_line_errors


@app.command()
def pack(
    folder: Annotated[Path, typer.Argument(help="The study's folder, or the file it is packed in.")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write; FOLDER.parquet if left out.")
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option("--spec", help="A spec.toml whose words, claims and statistics replace the study's."),
    ] = None,
) -> None:
    """Pack a finished study into one Parquet file, which report and status read as they read the folder."""
    from heavytail.studies.specs.reading import read_spec  # here, because most commands do without
    from heavytail.studies.study import Study

    with one_line_errors():
        study = Study.open(folder, None if spec is None else read_spec(spec))
        typer.echo(str(study.pack(out)))
