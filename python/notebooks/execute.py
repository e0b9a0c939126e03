"""Executes the notebooks, and keeps them with what they print and draw.

Usage: execute.py FOLDER
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def execute(notebook: Path, to: Path | None = None) -> nbformat.NotebookNode:
    """Executes one in a fresh folder; an exception in it is raised here. `to` is where it is kept."""
    document = nbformat.read(notebook, as_version=4)
    # Bars of progress are for whoever waits.
    os.environ["TQDM_DISABLE"] = "1"
    with tempfile.TemporaryDirectory() as place:
        NotebookClient(document, timeout=600, kernel_name="python3", resources={"metadata": {"path": place}}).execute()
    if to is not None:
        to.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(document, to)
    return document


def main() -> None:
    to = Path(sys.argv[1])
    for notebook in sorted(Path(__file__).parent.glob("*.ipynb")):
        print(f"notebooks: {notebook.name}")
        execute(notebook, to / notebook.name)


if __name__ == "__main__":
    main()
