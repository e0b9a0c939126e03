"""Figures by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import NoResults

if TYPE_CHECKING:
    from .campaign import Campaign

#: Okabe and Ito's colours, which the colour-blind can tell apart.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = "osD^vPX"

#: Units of columns, by what their names end in: the factor to what is shown, and its name.
UNITS = {"_bps": (1e-6, "Mbit/s"), "_s": (1.0, "s"), "_bytes": (1e-6, "MB"), "_packets": (1.0, "packets")}


def curves(campaign: Campaign, metric: str, *, x: str | None, confidence: int, ax: Any) -> Any:
    """See `Campaign.plot`."""
    import matplotlib.pyplot as plt

    if confidence not in (95, 99):
        raise ValueError(f"confidence is 95 or 99 per cent, not {confidence}")
    table = campaign.summary
    mean = next((name for name in table.columns if name.startswith(f"{metric}_mean")), None)
    if mean is None:
        there = [name.split("_mean")[0] for name in table.columns if "_mean" in name]
        raise NoResults(f"there is no figure `{metric}` (there are {', '.join(there)})")
    columns = table.to_dict()
    swept = campaign._swept(table.columns)
    if x is None:
        x = swept[0] if swept else "point"
    if x not in columns:
        raise NoResults(f"there is no column `{x}` (there are {', '.join(swept)})")
    factor, unit = next((UNITS[end] for end in UNITS if mean.endswith(end)), (1.0, ""))
    x_factor, x_unit = next((UNITS[end] for end in UNITS if x.endswith(end)), (1.0, ""))
    half = columns[mean.replace("_mean", f"_half_width_{confidence}")]
    others = [name for name in swept if name != x]
    flows = list(dict.fromkeys(columns["flow"]))
    lines: dict[str, list[tuple[Any, float, float]]] = {}
    for row, value in enumerate(columns[mean]):
        if value is None:
            continue
        parts = [f"{_short(name)} {columns[name][row]}" for name in others]
        if len(flows) > 1 or not parts:
            parts.insert(0, columns["flow"][row])
        position = columns[x][row]
        position = position * x_factor if isinstance(position, (int, float)) else position
        lines.setdefault(", ".join(parts), []).append((position, value * factor, (half[row] or 0.0) * factor))
    if ax is None:
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
    ax.set_xlabel(f"{_short(x)} ({x_unit})" if x_unit else _short(x))
    ax.set_ylabel(f"{metric.replace('_', ' ')} ({unit})" if unit else metric.replace("_", " "))
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    if campaign.scenario.title:
        ax.set_title(campaign.scenario.title)
    if len(lines) > 1:
        ax.legend()
    return ax


def _short(column: str) -> str:
    """`link.sat.delay_s` is `sat delay`."""
    for end in UNITS:
        column = column.removesuffix(end)
    return " ".join(column.split(".")[1:] or [column])
