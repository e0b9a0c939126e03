"""What can go wrong, besides what Python's own exceptions say."""

from __future__ import annotations


class BentpipeError(Exception):
    """The base of all exceptions of this package."""


class ScenarioError(BentpipeError, ValueError):
    """A scenario cannot be used; the message says where and why, in one line.

    Attributes:
        file: the scenario's file, or the name that it was given.
        line: the line in the scenario's text, from 1; 0 if it is a change from outside.
        column: the column, in characters from 1.
        problem: what is wrong, without the place.
        point: at which point of the sweep, if only there.
        path: the field or the table that stands there, as in a sweep ("link.sat.rte"); "" if there is none.
    """

    def __init__(
        self,
        message: str,
        file: str = "",
        line: int = 0,
        column: int = 0,
        problem: str = "",
        point: str | None = None,
        path: str = "",
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column
        self.problem = problem
        self.point = point
        self.path = path

    def __reduce__(self):
        return type(self), (str(self), self.file, self.line, self.column, self.problem, self.point, self.path)


class RunsFailed(BentpipeError):
    """Some runs could not be completed; the others are kept, and tables were made of them.

    Attributes:
        failures: for each run its point, its number, the point's label, and why.
    """

    def __init__(self, failures: list[tuple[int, int, str, str]]) -> None:
        point, run, label, why = failures[0]
        where = f"run {run} of point {point}" + (f" ({label})" if label else "")
        more = f", and {len(failures) - 1} more" if len(failures) > 1 else ""
        super().__init__(f"{where} failed: {why}{more}")
        self.failures = failures

    def __reduce__(self):
        return type(self), (self.failures,)


class Cancelled(BentpipeError):
    """`Campaign.cancel` was called. What was finished is kept."""


class VersionMismatch(BentpipeError):
    """A worker has another version of bentpipe than the client: its results would not be the same."""


class NoResults(BentpipeError):
    """There is no such table: nothing was run yet, or nothing of this kind was measured."""
