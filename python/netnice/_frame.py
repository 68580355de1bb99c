# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables of results in Arrow's memory format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow

if TYPE_CHECKING:
    from ._native import Table


class Frame:
    """A table of results in Arrow's memory format.

    Any library that knows Arrow's PyCapsule interface takes it without a copy: ``pyarrow.table(frame)``,
    ``polars.DataFrame(frame)``, ``duckdb.sql("from frame")``.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"<netnice.Frame: {len(self)} rows of {', '.join(self.columns)}>"

    @property
    def columns(self) -> list[str]:
        """The names of the columns, which end in their unit: ``_bps`` bit/s, ``_s`` seconds, ``_bytes``."""
        return self._table.columns

    def to_arrow(self) -> pyarrow.Table:
        """Return a ``pyarrow.Table`` that shares the memory."""
        return pyarrow.table(self)

    def to_pandas(self, *, dtype_backend: str = "numpy") -> Any:
        """Return a ``pandas.DataFrame``.

        With ``dtype_backend="pyarrow"`` it shares the memory; NumPy's types need a copy where a column is in several
        pieces (time series: one for each series) or has empty fields.
        """
        if dtype_backend == "pyarrow":
            import pandas

            return self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype, split_blocks=True)
        if dtype_backend != "numpy":
            msg = f'dtype_backend is "numpy" or "pyarrow", not {dtype_backend!r}'
            raise ValueError(msg)
        return self.to_arrow().to_pandas(split_blocks=True)

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame`` that shares the numbers' memory."""
        import polars

        return polars.from_arrow(self.to_arrow(), rechunk=False)

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        rows = 10
        try:
            html = str(self.to_arrow().slice(0, rows).to_pandas().to_html(index=False))
        except ImportError:
            return ""
        return html if len(self) <= rows else f"{html}<p>{rows} of {len(self)} rows</p>"
