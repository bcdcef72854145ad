"""The command ``heavytail pack``."""

from pathlib import Path
from typing import Annotated

import typer

from heavytail.cli.app import app, one_line_errors


@app.command()
def pack(
    folder: Annotated[Path, typer.Argument(help="the study's folder")],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="the file; FOLDER.parquet if left out")
    ] = None,
) -> None:
    """Pack a finished study into one Parquet file, which report and status read as they read the folder."""
    from heavytail.studies.study import Study  # here, because most commands do without

    with one_line_errors():
        typer.echo(str(Study.open(folder).pack(out)))
