"""Tables as xarray's datasets: see `Campaign.to_xarray`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _bentpipe
from .errors import NoResults
from .plotting import column_of

if TYPE_CHECKING:
    from .campaign import Campaign

#: Columns that say of what a row is.
NAMES = ("flow", "link", "from", "to", "gateway", "group", "element")
#: Units of swept fields, by what their columns' names end in.
UNITS = {"_s": "s", "_bps": "bit/s", "_bytes": "bytes", ".bytes": "bytes", "_packets": "packets"}


def dataset(campaign: Campaign, table: str) -> Any:
    """A table as an `xarray.Dataset`."""
    frame = campaign.table(table).to_pandas().drop(columns="point")
    swept = [name for path in campaign.scenario.swept if (name := column_of(path, list(frame.columns))) is not None]
    keys = [*swept, *(name for name in NAMES if name in frame.columns), *(["run"] if "run" in frame.columns else [])]
    declared = {name: (unit, about) for name, _, unit, about in dict(_bentpipe.columns())[table]}
    declared |= {name: (next((unit for end, unit in UNITS.items() if name.endswith(end)), ""), "swept") for name in swept}
    if table == "series":
        units = dict(_bentpipe.quantities())
        # A segment is no value that lasts until the next one.
        frame = frame[frame["quantity"].isin(list(units))]
        if frame.empty:
            raise NoResults("the series have nothing but `sequence`, which is no dataset: take `table(\"series\")`")
        declared = {"time_s": declared["time_s"], **declared, **{name: (unit, "") for name, unit in units.items()}}
        data = frame.pivot(index=[*keys, "time_s"], columns="quantity", values="value").to_xarray()
    else:
        if table == "transfers":
            frame["transfer"] = frame.groupby(keys, dropna=False).cumcount()
            keys.append("transfer")
            declared["transfer"] = ("", "of its flow in its run, from 0")
        data = (frame.set_index(keys) if keys else frame).to_xarray()
    for name, variable in data.variables.items():
        unit, about = declared.get(name, ("", ""))
        variable.attrs |= {key: text for key, text in (("units", unit), ("long_name", about)) if text}
    return data
