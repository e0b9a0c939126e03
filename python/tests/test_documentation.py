"""Examples in documentation strings run, and everything public has one."""

import doctest
import inspect

import pytest

import bentpipe
from bentpipe import campaign, captures, errors, scenario, tables, tcp

MODULES = [campaign, captures, errors, scenario, tables, tcp]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_run(module, tmp_path):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    names = {**vars(module), **vars(bentpipe), "tmp": tmp_path}
    assert doctest.testmod(module, extraglobs=names, optionflags=flags).failed == 0


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_everything_public_is_documented(module):
    for name in getattr(module, "__all__", []):
        thing = getattr(module, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                public = not member.startswith("_") and (callable(value) or isinstance(value, property))
                assert not public or inspect.getdoc(value), f"{name}.{member}"
