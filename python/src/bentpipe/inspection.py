"""Congestion controls as the extension module looks at them: their methods, their code, their parameters."""

from __future__ import annotations

import difflib
import functools
import hashlib
import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from . import _bentpipe
from .control import CongestionControl

__all__ = ["methods", "registered", "shown", "with_parameters"]

Factory = Callable[[], CongestionControl]

#: Values of these types are their text.
SIMPLE = (bool, int, float, complex, str, bytes, type(None))


def registered(controls: Mapping[str, Factory]) -> list[_bentpipe.Control]:
    """The controls of a scenario by their names, as its TCPs have them.

    Raises:
        TypeError: one of them is no class, or none of a control.
        ValueError: a name is bentpipe's own, or cannot be one.
    """
    return [_registered(name, factory) for name, factory in controls.items()]


def _registered(name: str, factory: Factory) -> _bentpipe.Control:
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise ValueError(f"controls: {name!r} cannot be a name (expected letters, digits, - and _)")
    if not callable(factory):
        kind = type(factory).__name__
        raise TypeError(f"controls: {name!r} is an object of {kind} (expected a class: each connection has an object of its own)")
    return _bentpipe.Control(factory, name, about(factory), digest(factory))


def about(factory: Factory) -> str:
    """The name of a class; of a `functools.partial` with its arguments.

    Examples:
        >>> about(functools.partial(CongestionControl, delta=0.5))
        'CongestionControl(delta=0.5)'
    """
    if isinstance(factory, functools.partial):
        arguments = [repr(value) for value in factory.args] + [f"{key}={value!r}" for key, value in factory.keywords.items()]
        return f"{about(factory.func)}({', '.join(arguments)})"
    return getattr(factory, "__name__", type(factory).__name__)


def methods(control: Any) -> tuple[str, list[str], list[str], bool, bool]:
    """The class of a control, what its methods ask for, and how it goes about recovery and the first window.

    Raises:
        TypeError: it is no control.
    """
    kind = type(control)
    own_window = getattr(kind, "initial_window", CongestionControl.initial_window) is not CongestionControl.initial_window
    asked = [_asked(control, method, known) for method, known in (("on_ack", _bentpipe.ON_ACK), ("on_loss", _bentpipe.ON_LOSS))]
    return kind.__name__, *asked, bool(getattr(control, "decides_in_recovery", False)), own_window


def _asked(control: Any, method: str, known: list[str]) -> list[str]:
    """The keyword arguments that a method takes."""
    if isinstance(control, type):
        raise TypeError(f"{control.__name__} is a class (expected an object: {control.__name__}())")
    name = f"{type(control).__name__}.{method}"
    function = getattr(control, method, None)
    if not callable(function):
        raise TypeError(f"there is no method {name} (expected one as bentpipe.tcp.CongestionControl has it)")
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return list(known)
    for parameter in parameters:
        by_name = parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if parameter.default is parameter.empty and not (by_name and parameter.name in known):
            near = difflib.get_close_matches(parameter.name, known, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
            raise TypeError(f"{name} asks for `{parameter.name}` ({hint})")
    return [parameter.name for parameter in parameters if parameter.name in known]


def with_parameters(factory: Factory, text: str) -> Factory:
    """What makes the same with parameters from a TCP's text.

    Examples:
        >>> with_parameters(dict, "delta=0.5,fast=on,mode-of-work=gentle")()
        {'delta': 0.5, 'fast': True, 'mode_of_work': 'gentle'}
    """
    parameters = {}
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"`{part}` is not of the form key=value")
        parameters[key.strip().replace("-", "_")] = _value(value.strip())
    return functools.partial(factory, **parameters)


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"on": True, "off": False}.get(text, text)


def shown(error: BaseException) -> str:
    """An exception of a control: itself, and how it came to it if that is in the control's own code."""
    lines = traceback.format_exception(error)
    first = traceback.format_exception_only(error)[-1].strip()
    return first if error.__traceback__ is None else f"{first}\n{''.join(lines)}".rstrip()


def digest(factory: Factory) -> str:
    """Of the code of a control, and of what that names in its module: functions, classes and simple values. Comments and
    what is imported are not in it."""
    found = hashlib.sha256()
    for part in _parts(factory, set()):
        found.update(part.encode() + b"\0")
    return found.hexdigest()[:16]


def _parts(thing: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(thing, SIMPLE):
        yield repr(thing)
    elif id(thing) not in seen:
        seen.add(id(thing))
        yield from _parts_of(thing, seen)
        # Of functions and classes each is there once. Anything else may be a value of the moment, and another one is at
        # its address afterwards: it is in the set for as long as it could contain itself.
        if not isinstance(thing, (FunctionType, type)):
            seen.remove(id(thing))


def _parts_of(thing: Any, seen: set[int]) -> Iterator[str]:
    match thing:
        case functools.partial():
            yield from _parts((thing.func, thing.args, thing.keywords), seen)
        case type():
            # Not its qualified name: a class that was sent to another process has lost that.
            yield thing.__name__
            for base in thing.__mro__[:-1]:
                for name, value in sorted(vars(base).items()):
                    if not name.startswith("__") or isinstance(value, FunctionType):
                        yield name
                        yield from _parts(value, seen)
        case FunctionType():
            yield from _code(thing.__code__, seen)
            yield from _parts((thing.__defaults__, thing.__kwdefaults__), seen)
            yield from _parts(_closed_over(thing), seen)
            for name in sorted(_names(thing.__code__)):
                value = thing.__globals__.get(name)
                here = getattr(value, "__module__", None) == thing.__module__
                if isinstance(value, (*SIMPLE, tuple, list, dict, set, frozenset)) or here:
                    yield name
                    yield from _parts(value, seen)
        case staticmethod() | classmethod():
            yield from _parts(thing.__func__, seen)
        case property():
            yield from _parts((thing.fget, thing.fset, thing.fdel), seen)
        case Mapping():
            for key, value in thing.items():
                yield from _parts(key, seen)
                yield from _parts(value, seen)
        case tuple() | list():
            yield type(thing).__name__
            for value in thing:
                yield from _parts(value, seen)
        case set() | frozenset():
            # In an order that has nothing to do with addresses, and each of them whole.
            yield from sorted("\0".join(_parts(value, set(seen))) for value in thing)
        case _:
            yield type(thing).__name__


def _closed_over(function: FunctionType) -> list[Any]:
    try:
        return [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # one of them has no value yet
        return []


def _code(code: CodeType, seen: set[int]) -> Iterator[str]:
    yield code.co_name
    yield code.co_code.hex()
    yield from code.co_names
    yield from code.co_varnames
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant, seen)
        else:
            yield repr(constant) if not isinstance(constant, frozenset) else repr(sorted(map(repr, constant)))


def _names(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*(_names(constant) for constant in inner))
