"""Figures by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import NoResults
from .tables import needed

if TYPE_CHECKING:
    from .campaign import Campaign

#: Okabe and Ito's colours, which the colour-blind can tell apart.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = "osD^vPX"

#: Units of columns, by what their names end in: the factor to what is shown along an axis, and its name.
UNITS = {"_bps": (1e-6, "Mbit/s"), "_s": (1.0, "s"), "_bytes": (1e-6, "MB"), ".bytes": (1e-6, "MB"), "_packets": (1.0, "packets")}
#: The base units of those that are written with a prefix in a legend.
BASES = {"_bps": "bit/s", "_s": "s", "_bytes": "B", ".bytes": "B"}
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"))

#: Values that span so much are shown on a logarithmic axis: two decades, but for how floats are rounded.
WIDE = 99.9


def column_of(path: str, columns: list[str]) -> str | None:
    """The column of a swept field: its path, with the unit behind it if it is a quantity."""
    return next((name for name in columns if name == path or name in {path + end for end in UNITS if end.startswith("_")}), None)


def curves(campaign: Campaign, metric: str, *, x: str | None, confidence: int, ax: Any) -> Any:
    """See `Campaign.plot`."""
    plt = needed("matplotlib.pyplot", "plot")
    if confidence not in (95, 99):
        raise ValueError(f"confidence is 95 or 99 per cent, not {confidence}")
    table = campaign.summary
    mean = next((name for name in table.columns if name.startswith(f"{metric}_mean")), None)
    if mean is None:
        there = [name.split("_mean")[0] for name in table.columns if "_mean" in name]
        raise NoResults(f"there is no figure `{metric}` (there are {', '.join(there)})")
    columns = table.to_dict()
    along = _along(campaign, x, table.columns)
    factor, unit = _unit(mean)
    x_factor, x_unit = _unit(along)
    half = columns[mean.replace("_mean", f"_half_width_{confidence}")]
    rows = [row for row, value in enumerate(columns[mean]) if value is not None]
    others = _telling(campaign, along, {name: [column[row] for row in rows] for name, column in columns.items()})
    lines: dict[str, list[tuple[Any, float, float]]] = {}
    for row in rows:
        value, position = columns[mean][row], columns[along][row]
        parts = [_part(columns[name][row], name) for name in others] or [columns["flow"][row]]
        position = position * x_factor if isinstance(position, (int, float)) else position
        lines.setdefault(", ".join(parts), []).append((position, value * factor, (half[row] or 0.0) * factor))
    own = ax is None
    if own:
        _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    for number, (label, points) in enumerate(lines.items()):
        positions, values, errors = zip(*points)
        ax.errorbar(
            positions,
            values,
            yerr=errors if any(errors) else None,
            label=label,
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            capsize=3,
        )
    all_points = [point for points in lines.values() for point in points]
    _scale(ax, "x", [position for position, _, _ in all_points])
    if not _scale(ax, "y", [value for _, value, _ in all_points]):
        ax.set_ylim(bottom=0)
    ax.set_xlabel(f"{_short(along)} ({x_unit})" if x_unit else _short(along))
    ax.set_ylabel(f"{metric.replace('_', ' ')} ({unit})" if unit else metric.replace("_", " "))
    ax.grid(alpha=0.3)
    if campaign.scenario.title:
        ax.set_title(campaign.scenario.title)
    if len(lines) > 1:
        _legend(ax, list(lines), own)
    return ax


def _telling(campaign: Campaign, along: str, columns: dict[str, list[Any]]) -> list[str]:
    """The fewest columns that tell curves apart: the flow and swept fields, without those that follow from others."""
    candidates = [name for group, _ in campaign._zipped() for name in group if name != along]
    candidates = [name for name in ["flow", *candidates] if len(set(columns[name])) > 1]
    # A field that is zipped with the one along the axis changes with it, unless that has values that come twice.
    where = lambda names: len(set(zip(*(columns[name] for name in [along, *names]))))
    rows = where(candidates)
    for name in reversed(candidates):
        fewer = [other for other in candidates if other != name]
        if where(fewer) == rows:
            candidates = fewer
    return candidates


def _part(value: Any, column: str) -> str:
    """What a curve's name says of a column. A text speaks for itself, a number does not."""
    return str(value) if isinstance(value, str) else f"{_short(column)} {quantity(value, column)}"


def _legend(ax: Any, labels: list[str], own: bool) -> None:
    """Within the axes if it is small; else below them, where it hides nothing."""
    longest = max(len(label) for label in labels)
    if len(labels) <= 5 and longest <= 30:
        ax.legend()
        return
    across = max(1, min(len(labels), 84 // (longest + 6)))
    if own:
        width, height = ax.figure.get_size_inches()
        ax.figure.set_size_inches(width, height + 0.2 * -(-len(labels) // across))
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=across, fontsize="small", frameon=False)


def _along(campaign: Campaign, x: str | None, columns: list[str]) -> str:
    """The column along the x axis."""
    fields = [x] if x is not None else [*campaign._grid, *campaign.scenario.swept, "point"]
    for field in fields:
        if (column := column_of(field, columns)) is not None:
            return column
    raise NoResults(f"there is no column `{x}` (swept are {', '.join(campaign.scenario.swept) or 'no fields'})")


def _scale(ax: Any, axis: str, values: list[Any]) -> bool:
    """Makes an axis logarithmic if its values span much; with zero among them it is linear up to the smallest of the others.
    Returns whether it was."""
    numbers = [value for value in values if isinstance(value, (int, float)) and value != 0]
    if len(numbers) < len([value for value in values if value != 0]) or not numbers or min(numbers) < 0:
        return False
    if max(numbers) < WIDE * min(numbers):
        return False
    if len(numbers) == len(values):
        getattr(ax, f"set_{axis}scale")("log")
    else:
        getattr(ax, f"set_{axis}scale")("symlog", linthresh=min(numbers), linscale=0.5)
    return True


def _unit(column: str) -> tuple[float, str]:
    return next((UNITS[end] for end in UNITS if column.endswith(end)), (1.0, ""))


def quantity(value: Any, column: str) -> str:
    """A value of a column with its unit.

    Examples:
        >>> quantity(0.25, "link.sat.delay_s"), quantity(8e6, "link.sat.rate_bps"), quantity(20.0, "link.sat.queue_packets")
        ('250 ms', '8 Mbit/s', '20 packets')
        >>> quantity(3e5, "flow.main.bytes"), quantity(0.001, "link.sat.loss"), quantity("linux", "host.a.tcp")
        ('300 kB', '0.001', 'linux')
    """
    if not isinstance(value, (int, float)):
        return str(value)
    end = next((end for end in BASES if column.endswith(end)), None)
    if end is None:
        _, unit = _unit(column)
        return f"{value:g} {unit}".rstrip()
    # There are no kiloseconds.
    prefixes = [(size, prefix) for size, prefix in PREFIXES if size <= 1 or end != "_s"]
    size, prefix = next(((size, prefix) for size, prefix in prefixes if abs(value) >= size), (1.0, ""))
    return f"{value / size:g} {prefix}{BASES[end]}"


def _short(column: str) -> str:
    """`link.sat.delay_s` is `sat delay`."""
    for end in UNITS:
        if end.startswith("_"):
            column = column.removesuffix(end)
    return " ".join(column.split(".")[1:] or [column])
