"""The notebooks run, and each draws figures."""

import importlib.util
import os
from pathlib import Path

import pytest

pytest.importorskip("nbclient")
FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_draws(notebook):
    spec = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # `make docs` shows them as they were executed here.
    keep = os.environ.get("BENTPIPE_NOTEBOOKS")
    document = module.execute(notebook, Path(keep, notebook.name) if keep else None)
    outputs = [output for cell in document.cells if cell.cell_type == "code" for output in cell.outputs]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) >= 1
    assert not [output for output in outputs if output.get("name") == "stderr"], "a warning stands in it"


def test_they_are_kept_without_their_outputs():
    import nbformat

    assert len(NOTEBOOKS) == 4
    for notebook in NOTEBOOKS:
        cells = nbformat.read(notebook, as_version=4).cells
        assert not any(cell.get("outputs") for cell in cells), f"{notebook.name}: clear its outputs"
