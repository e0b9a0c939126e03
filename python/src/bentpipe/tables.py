"""Tables, in whatever form the reader likes."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from . import _bentpipe

__all__ = ["Table"]


def needed(module: str, what: str) -> Any:
    """A module that the package does not need in order to be installed.

    Raises:
        ModuleNotFoundError: it is not there; the message says how to get it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        install = f"pip install {module.partition('.')[0]}, or bentpipe with [all]"
        raise ModuleNotFoundError(f"{what} needs {error.name}: {install}", name=error.name) from None


class Table:
    """A table that speaks Arrow's PyCapsule interface: `polars.DataFrame(table)`, `pyarrow.table(table)`, `duckdb`.

    A table of results is read from its file in parts, whenever it is asked for: it takes no memory of its own. A table of a
    capture is in memory.

    Types of columns are texts (`str`), whole numbers (`uint64`; `int64` where they may be negative), numbers (`float64`) and
    `bool`. Units stand at the end of names: `_s`, `_bps` (bit/s), `_bytes`, `_packets`. Cells without a value are null:
    `None` in `to_dict`.

    Examples:
        >>> campaign = Campaign("geo-download", grid={"flow.download.bytes": ["10KB", "20KB"]}, runs=1, folder=tmp / "table")
        >>> table = campaign.run().summary
        >>> table.columns[:4], len(table)
        (['point', 'flow.download.bytes', 'flow', 'runs'], 2)
        >>> table.schema["goodput_mean_bps"], table.head(1)["flow.download.bytes"]
        ('float64', [10000.0])
        >>> table.to_pandas()["runs"].sum()
        np.uint64(2)
    """

    def __init__(self, of: str | Path | _bentpipe.Table) -> None:
        """Of a Parquet file that bentpipe has written."""
        self._table = of if isinstance(of, _bentpipe.Table) else _bentpipe.Table(Path(of))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    @property
    def schema(self) -> dict[str, str]:
        """The names of its columns with the types of their values: "str", "uint64", "int64", "float64", "bool"."""
        return dict(self._table.schema)

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self._table.columns

    def __len__(self) -> int:
        """How many rows it has."""
        return len(self._table)

    def to_dict(self) -> dict[str, list[Any]]:
        """Each column as a list, with None where there is no value."""
        return self._table.to_dict()

    def head(self, rows: int = 20) -> dict[str, list[Any]]:
        """The first rows as `to_dict` has them; the others are not read."""
        if rows < 0:
            raise ValueError(f"rows is {rows} (expected 0 or more)")
        return self._table.to_dict(rows)

    def to_pandas(self) -> Any:
        """As a `pandas.DataFrame`. With pyarrow it is made of Arrow's columns, without it of lists."""
        pandas = needed("pandas", "to_pandas")
        try:
            import pyarrow
        except ImportError:
            return pandas.DataFrame(self.to_dict())
        return pyarrow.table(self).to_pandas()

    def to_polars(self) -> Any:
        """As a `polars.DataFrame`."""
        return needed("polars", "to_polars").DataFrame(self)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """In a notebook: the first rows."""
        from html import escape

        columns, rows = self.head(), len(self)
        head = "".join(f"<th>{escape(name)}</th>" for name in columns)
        text = lambda cell: "" if cell is None else escape(str(cell))
        cells = ("".join(f"<td>{text(cell)}</td>" for cell in row) for row in zip(*columns.values()))
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        more = f"<p>{rows} rows, of which 20 are shown</p>" if rows > 20 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
