"""Tables as xarray's datasets: see `Campaign.to_xarray`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from . import _bentpipe
from .errors import NoResults
from .tables import needed

if TYPE_CHECKING:
    from .campaign import Campaign

#: Columns that say of what a row is.
NAMES = ("flow", "link", "from", "to", "gateway", "group", "element")
#: Units of swept fields, by what their columns' names end in.
UNITS = {"_s": "s", "_bps": "bit/s", "_bytes": "bytes", ".bytes": "bytes", "_packets": "packets"}


def dataset(campaign: Campaign, table: str) -> Any:
    """A table as an `xarray.Dataset`."""
    for module in ("pandas", "xarray"):
        needed(module, "to_xarray")
    frame = campaign.table(table).to_pandas()
    swept = list(campaign.columns.values())
    leads, followers = _in_step(campaign._zipped(), frame)
    frame = frame.drop(columns=["point", *followers])
    keys = [*leads, *(name for name in NAMES if name in frame.columns), *(["run"] if "run" in frame.columns else [])]
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
    for name, (lead, values) in followers.items():
        data = data.assign_coords({name: (lead, [values[value] for value in data[lead].values.tolist()])})
    for name, variable in data.variables.items():
        unit, about = declared.get(name, ("", ""))
        variable.attrs |= {key: text for key, text in (("units", unit), ("long_name", about)) if text}
    return data


def _in_step(groups: list[tuple[list[str], int]], frame: Any) -> tuple[list[str], dict[str, tuple[str, dict[Any, Any]]]]:
    """One column of `frame` for each group of swept fields, which may be added to it; and each other column with that one,
    and its value at each of that one's."""
    leads, followers = [], {}
    faster = math.prod(count for _, count in groups)
    for group, count in groups:
        # Points are numbered in the order of the sweep, whose last field changes fastest.
        faster //= count
        step = frame["point"] // faster % count
        values = frame[group].assign(step=step).drop_duplicates("step")
        lead = next((name for name in group if len(group) == 1 or values[name].is_unique), None)
        if lead is None:
            lead = "step" if "step" not in frame.columns else f"step{len(leads)}"
            frame[lead] = step
        leads.append(lead)
        of_lead = values[lead if lead in group else "step"].tolist()
        followers |= {name: (lead, dict(zip(of_lead, values[name].tolist()))) for name in group if name != lead}
    return leads, followers
