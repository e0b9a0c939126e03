"""Bars of progress, by whichever library is there."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Told", "shown"]

#: A function that is given how many runs are finished and how many are needed.
Told = Callable[[int, int], None]


@contextmanager
def shown(progress: bool | str | Told, name: str) -> Iterator[Told | None]:
    """Shows progress while it lasts; gives the function that is told of it, or None."""
    if callable(progress):
        yield progress
        return
    # Who names a library is to hear that it is missing.
    bars = {"tqdm": [_tqdm], "rich": [_rich], True: [_tqdm, _rich], False: []}.get(progress)
    if bars is None:
        raise ValueError(f"progress is True, False, 'tqdm', 'rich' or a function, not {progress!r}")
    if progress is True and not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        bars = []
    for bar in bars:
        try:
            show, close = bar(name)
        except ImportError:
            if progress is not True:
                raise
            continue
        try:
            yield show
        finally:
            close()
        return
    yield None


def _tqdm(name: str) -> tuple[Told, Callable[[], None]]:
    with warnings.catch_warnings():
        # A notebook without widgets has a bar of characters.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    bar = tqdm(desc=name, unit="run")

    def show(finished: int, needed: int) -> None:
        if bar.n != finished or bar.total != needed:
            bar.total = needed
            bar.n = finished
            bar.refresh()

    return show, bar.close


def _rich(name: str) -> tuple[Told, Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    bar = Progress(*columns, console=None if "ipykernel" in sys.modules else Console(stderr=True))
    task = bar.add_task(name, total=None)
    bar.start()
    return lambda finished, needed: bar.update(task, completed=finished, total=needed), bar.stop
