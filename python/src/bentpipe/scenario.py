"""Scenarios: networks, traffic, and what is swept, as TOML or built here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from . import _bentpipe
from .inspection import Factory, registered

__all__ = ["Scenario", "examples"]

#: What a scenario is called that nobody has named.
UNNAMED = "scenario"


def examples() -> list[str]:
    """The names of the examples that come with bentpipe.

    Examples:
        >>> "geo-download" in examples()
        True
    """
    return _bentpipe.examples()


def toml(value: Any, path: str) -> str:
    """A value of the field `path` as TOML has it: `8`, `"1s"`, `[0, 0.01]`."""
    return _inline(plain(value, path))


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_inline(key)} = {_inline(item)}' for key, item in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(_inline(item) for item in value)}]"
    return tomli_w.dumps({"x": value}).removeprefix("x = ").strip()


def plain(value: Any, path: str) -> Any:
    """A value of the field or the table `path`, as dictionaries, lists, texts, numbers and booleans. Keys have `-` for `_`,
    but for names of the author's choosing.

    Raises:
        TypeError: TOML has no such value.
    """
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        value = value.tolist()
    if isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        keys = {key: str(key) if _names(path) else _key(str(key)) for key in value}
        return {keys[key]: plain(item, f"{path}.{keys[key]}") for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(item, path) for item in value]
    if value is None:
        raise TypeError(f"{path} is None (leave out what is to have no value)")
    raise TypeError(f"{path} is of the type {type(value).__name__} (expected a text, a number, a bool, a list or a dict)")


class Scenario:
    """A scenario: the text of a TOML file, with changes.

    Whatever makes one checks all of it, at every point of its sweep. What is wrong is a `ScenarioError` that says where.
    A scenario never changes: `set` gives another one.

    Examples:
        >>> scenario = Scenario.load("geo-download")
        >>> scenario.set("link.sat.loss", 0.01).set("run.duration", "60s")
        <Scenario 'geo-download': 4 points>
    """

    def __init__(
        self,
        text: str,
        *,
        name: str = UNNAMED,
        folder: str | Path | None = None,
        changes: Iterable[tuple[str, str]] = (),
        controls: Mapping[str, Factory] | None = None,
    ) -> None:
        """Of a TOML text.

        Args:
            text: the text.
            name: what messages call it, and the folder of its results.
            folder: where the files lie that it names, such as traces; without one, only those of the examples are known.
            changes: fields and their new values, as TOML.
            controls: congestion controls in Python by the names that its TCPs have for them; see `with_controls`.
        """
        self._text = text
        self.name = name
        self._folder = None if folder is None else Path(folder)
        self._changes = list(changes)
        self._controls = dict(controls or {})
        known = registered(self._controls)
        identities = [
            (f"control.{name}.{key}", value) for name, keys in _identities(self._controls).items() for key, value in keys.items()
        ]
        self.experiment = _bentpipe.Experiment.parse(name, text, self._folder, identities + self._changes, known)

    @classmethod
    def load(cls, name: str | Path, *, controls: Mapping[str, Factory] | None = None) -> Scenario:
        """A scenario's file, or an example by its name (`examples()` has them), with `controls` as in `with_controls`.

        Raises:
            FileNotFoundError: there is neither.
            ScenarioError: it cannot be used.
        """
        text, folder = _bentpipe.Experiment.find(Path(name))
        return cls(text, name=str(name), folder=folder, controls=controls)

    @classmethod
    def build(
        cls,
        title: str = "",
        *,
        name: str = UNNAMED,
        folder: str | Path | None = None,
        controls: Mapping[str, Factory] | None = None,
        **tables: Any,
    ) -> Scenario:
        """A scenario from Python's dictionaries, with the tables and keys of a file (docs/scenario-format.md).

        A key that is no name in Python is written with `_` for `-`, and `from_` for `from`. Names of your own, such as
        those of hosts and links, stay as they are. Lines in messages are those of the text that comes of it
        (`print(scenario)`). `controls` are as in `with_controls`.

        Raises:
            ScenarioError: it cannot be used.
            TypeError: a value is none that TOML has, such as None.

        Examples:
            >>> Scenario.build(
            ...     run={"duration": "10s"},
            ...     host={"server": {}, "client": {}},
            ...     link={"sat": {"between": ["server", "client"], "rate": "8Mbit/s", "delay": "250ms"}},
            ...     flow={"main": {"from": "server", "to": "client", "bytes": "1MB"}},
            ... )
            <Scenario 'scenario': 1 point>
        """
        document = {"title": title} if title else {}
        document |= {_key(key): plain(value, _key(key)) for key, value in tables.items()}
        return cls(tomli_w.dumps(document), name=name, folder=folder, controls=controls)

    def set(self, path: str, value: Any) -> Scenario:
        """The same with another value of a field, by its path as in a sweep: `"link.sat.loss"`.

        Raises:
            ScenarioError: there is no such field, or it cannot have this value.
        """
        return self._changed([(path, toml(value, path))])

    def sweep(self, grid: Mapping[str, Iterable[Any]]) -> Scenario:
        """The same at every combination of these values of fields, besides what it is swept over already."""
        return self._changed([(f"sweep.{path}", toml(_values(path, values), path)) for path, values in grid.items()])

    def repeat(
        self, runs: int | None = None, *, until: str | None = None, min: int | None = None, max: int | None = None
    ) -> Scenario:
        """The same with so many runs of each point, or with a rule that says when they are enough.

        Args:
            runs: so many.
            until: "ci95 5%", "ci99 5%" or "sd 5%": until every flow's goodput is as sure as that.
            min: at least so many runs.
            max: at most so many.
        """
        rules = {"runs": runs, "until": until, "min": min, "max": max}
        return self._changed([(f"repeat.{key}", toml(value, key)) for key, value in rules.items() if value is not None])

    def with_controls(self, controls: Mapping[str, Factory]) -> Scenario:
        """The same, with congestion controls in Python that its TCPs may name: those of hosts, flows and gateways.

        Args:
            controls: classes as `bentpipe.tcp.CongestionControl`, by the names that TCPs have for them:
                `congestion=copa`. Each connection has an instance of its own. What a TCP sets, as
                `congestion=copa:delta=0.1`, is given to the class by name: `Copa(delta=0.1)`.

        Raises:
            ValueError: a name is that of one of bentpipe's own controls.
            TypeError: one of them is no class of a control.

        Examples:
            >>> class Steady(tcp.CongestionControl):
            ...     def __init__(self, segments=20):
            ...         self.segments = segments
            ...     def on_ack(self, smss):
            ...         return self.segments * smss
            ...     on_loss = on_ack
            >>> scenario = Scenario.load("geo-download", controls={"steady": Steady})
            >>> scenario.set("host.server.tcp", "linux,congestion=steady:segments=40")
            <Scenario 'geo-download': 4 points>
        """
        return self._changed([], {**self._controls, **controls})

    def _changed(self, changes: list[tuple[str, str]], controls: Mapping[str, Factory] | None = None) -> Scenario:
        changes = [*self._changes, *changes]
        controls = self._controls if controls is None else controls
        return Scenario(self._text, name=self.name, folder=self._folder, changes=changes, controls=controls)

    @property
    def title(self) -> str:
        """Its title."""
        return self.experiment.title

    @property
    def swept(self) -> list[str]:
        """The paths of the fields that it is swept over."""
        return self.experiment.swept()

    @property
    def labels(self) -> list[str]:
        """What each point of its sweep is called."""
        return self.experiment.labels()

    @classmethod
    def of_files(
        cls, name: str, text: str, files: dict[str, str], *, controls: Mapping[str, Factory] | None = None
    ) -> Scenario:
        """Of a text and the texts of the files that it names, by their names in it."""
        controls = dict(controls or {})
        for control, keys in _identities(controls).items():
            text += "\n".join([f"\n[control.{control}]", *(f"{key} = {value}" for key, value in keys.items()), ""])
        return _restored(name, text, files, controls)

    def __len__(self) -> int:
        """How many points its sweep has."""
        return len(self.experiment)

    def __str__(self) -> str:
        """Its TOML, changes included."""
        return self.experiment.text()

    def __repr__(self) -> str:
        points = len(self)
        return f"<Scenario {self.name!r}: {points} point{'s' if points != 1 else ''}>"

    def __reduce__(self):
        name, text, files = self.experiment.parts()
        return _restored, (name, text, files, self._controls)


def _identities(controls: Mapping[str, Factory]) -> dict[str, dict[str, str]]:
    """The table of each control, whose keys have TOML: with another class, runs are others."""
    return {
        name: {"class": toml(control.about, "class"), "digest": toml(control.digest, "digest")}
        for name, control in zip(controls, registered(controls))
    }


def _restored(name: str, text: str, files: dict[str, str], controls: Mapping[str, Factory]) -> Scenario:
    scenario = object.__new__(Scenario)
    scenario._text, scenario.name, scenario._folder, scenario._changes = text, name, None, []
    scenario._controls = controls
    scenario.experiment = _bentpipe.Experiment.of_parts(name, text, files, registered(controls))
    return scenario


def _key(key: str) -> str:
    return key.removesuffix("_").replace("_", "-")


def _names(path: str) -> bool:
    """Whether the keys of this table are of the author's choosing, or are paths or columns."""
    match path.split("."):
        case [table]:
            return table in (*_bentpipe.TABLES_BY_NAME, "numbers", "sweep")
        case ["figure", _, key]:
            return key in ("where", "names")
        case ["variant", "set"]:
            return True
    return False


def _values(path: str, values: Any) -> Any:
    """Of a field of a grid: one text is not as many values as it has letters."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"the grid's values of {path} are {values!r} (expected a list of values)")
    return values
