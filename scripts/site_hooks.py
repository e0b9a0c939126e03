"""Hooks of mkdocs: pages that do not stand in docs/, and links between them and the rest of the repository.

README.md is the first page. ARCHITECTURE.md and its like have pages of their own, and so have the notebooks, the commands
(as they say themselves with `--help`) and Python's modules (from their documentation strings).
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
#: Files of the repository's root that are pages, and what they are called there.
PAGES = {name: name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")} | {"README.md": "index.md"}
NOTEBOOKS = ROOT / os.environ.get("BENTPIPE_NOTEBOOKS", "python/notebooks")
PROGRAM = Path(sys.executable).with_name("bentpipe")
MODULES = {
    "bentpipe": ["Scenario", "Campaign", "Table", "Capture", "examples", "read_capture"],
    "bentpipe.tcp": [
        *("CongestionControl", "Path", "Network", "Flow", "Connection", "Link", "Segment", "Sent", "Observation", "presets"),
    ],
    "bentpipe.errors": ["BentpipeError", "ScenarioError", "RunsFailed", "Cancelled", "VersionMismatch", "NoResults"],
}
IMAGE = re.compile(r'(<img [^>]*src="((?:[^"]*/)?)([\w-]+)\.svg"[^>]*>)')
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


# The search of pages that are read from files asks for this; `scripts/docs.sh` brings it. Without it pages do not ask:
# nothing is loaded from elsewhere.
SHIM_URL = "https://unpkg.com/iframe-worker/shim"
SHIM_SCRIPT = re.compile(rf"<script[^>]*{re.escape(SHIM_URL)}[^>]*>\s*</script>")
DIAGRAMS = re.compile(r'<script type="module">(?:(?!</script>).)*?mermaid\.esm(?:(?!</script>).)*</script>', re.DOTALL)
SHIM = os.environ.get("BENTPIPE_IFRAME_WORKER")
SHIM_PLACE = "assets/javascripts/iframe-worker.js"


# Before the plugin that makes pages of notebooks.
@event_priority(100)
def on_files(files, config):
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        path = f"notebooks/{notebook.name}"
        files.append(File(path, str(NOTEBOOKS.parent), config["site_dir"], config["use_directory_urls"]))
    files.append(File.generated(config, "commands.md", content=commands()))
    files.append(File.generated(config, "python-api.md", content=python_api()))
    return files


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri
    # Where the page stands in the repository.
    place = next((name for name, uri in PAGES.items() if uri == here), f"docs/{here}")

    def rewrite(match):
        target = match[2]
        if re.match(r"[a-z]+:", target):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
        uri = PAGES.get(path, path.removeprefix("docs/") if path.startswith("docs/") else None)
        if uri is not None and (files.get_file_from_path(uri) or (ROOT / path).is_file()):
            return match[1] + posixpath.relpath(uri, posixpath.dirname(here) or ".") + match[3]
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{match[1]}{config['repo_url']}/{kind}/main/{path}{match[3]}"

    return LINK.sub(rewrite, markdown)


def on_page_content(html, page, config, files):
    """Pictures that have a narrow twin show it on a phone."""

    def narrow(match):
        folder, name = match[2], match[3]
        if not (ROOT / "docs" / "pictures" / f"{name}-narrow.svg").is_file():
            return match[0]
        source = f'<source media="(max-width: 600px)" srcset="{folder}{name}-narrow.svg">'
        return f"<picture>{source}{match[0]}</picture>"

    return IMAGE.sub(narrow, html)


def on_post_build(config):
    """Nothing is loaded from elsewhere: neither what the search asks for, nor what would draw diagrams in notebooks, if there
    were any."""
    site = Path(config["site_dir"])
    for page in site.rglob("*.html"):
        text = before = page.read_text()
        if SHIM:
            here = page.relative_to(site).parent.as_posix()
            text = text.replace(SHIM_URL, posixpath.relpath(SHIM_PLACE, here))
        else:
            text = SHIM_SCRIPT.sub("", text)
        text = DIAGRAMS.sub("", text)
        if text != before:
            page.write_text(text)
    if SHIM:
        shutil.copy(SHIM, site / SHIM_PLACE)


def helped(*command: str) -> str:
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run([PROGRAM, *command, "--help"], check=True, capture_output=True, text=True, env=environment).stdout


def commands() -> str:
    """What every command says of itself."""
    parts = ["# Commands\n\nWhat `--help` says, of all of them."]

    def add(command: tuple[str, ...]) -> None:
        text = helped(*command)
        parts.append(f"{'#' * (1 + len(command))} bentpipe {' '.join(command)}".rstrip() if command else "")
        parts.append(f"```text\n{text.rstrip()}\n```")
        block = re.search(r"^Commands:\n((?:  .*\n|\n(?=  ))+)", text, re.MULTILINE)
        for line in block[1].splitlines() if block else []:
            name = re.match(r"  ([a-z][a-z-]*)(?:  |$)", line)
            if name and name[1] != "help":
                add((*command, name[1]))

    add(())
    return "\n\n".join(parts) + "\n"


def python_api() -> str:
    """mkdocstrings' marks for all that is public."""
    parts = ["# Python\n\nThe guide is [from Python](python.md)."]
    for module, names in MODULES.items():
        parts.append(f"## {module}")
        home = {"Segment": "bentpipe._bentpipe.Segment", "Link": "bentpipe._bentpipe.Link"}
        parts += [f"::: {home.get(name, f'{module}.{name}')}" for name in names]
    return "\n\n".join(parts) + "\n"
