"""Checks that the site of `make docs` loads nothing from elsewhere: what its pages, style sheets and scripts load lies in it.

Links that a reader may follow, such as those to papers, are no loads.

Usage: check_site.py FOLDER
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

ELSEWHERE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
#: Attributes that load, of all elements. What `<link>` loads depends on its kind.
LOADS = ("src", "srcset", "poster", "data", "background")
#: Kinds of `<link>` that load nothing.
NAMES_ONLY = {"canonical", "alternate", "author", "license", "next", "prev", "search"}
#: Style sheets load by `url(…)` and `@import "…"`.
STYLES = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)
#: Scripts by `import`, by `importScripts`, by `fetch`, by workers, and by a `src` that is set.
SCRIPTS = re.compile(
    r"""(?:\bimport\s*\(?\s*|\bimportScripts\(\s*|\bfrom\s*|\bfetch\(\s*|\bWorker\(\s*|\.src\s*=\s*)["'`]((?:https?:)?//[^"'`]+)"""
)
#: The theme loads this where a page has a diagram of it.
MERMAID = re.compile(r"""class=["'][^"']*\bmermaid\b""")


class Page(HTMLParser):
    """Gathers what a page loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        given = {name: value or "" for name, value in attributes}
        for name in LOADS:
            for part in given.get(name, "").split(","):
                self._load(part.strip(), f"<{tag} {name}>")
        if tag == "link" and not NAMES_ONLY & set(given.get("rel", "").split()):
            self._load(given.get("href", ""), "<link href>")
        if tag in ("use", "image"):
            self._load(given.get("href", given.get("xlink:href", "")), f"<{tag} href>")
        self.found += [f"style: {address}" for address in STYLES.findall(given.get("style", ""))]

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        what = {"script": SCRIPTS, "style": STYLES}.get(self._inside)
        if what is not None:
            self.found += [f"<{self._inside}>: {address}" for address in what.findall(data)]

    def _load(self, address: str, where: str) -> None:
        if ELSEWHERE.match(address):
            self.found.append(f"{where}: {address}")


def loads(path: Path) -> list[str]:
    """What a file loads from elsewhere."""
    text = path.read_text(errors="replace")
    if path.suffix == ".css":
        return STYLES.findall(text)
    if path.suffix == ".js":
        return SCRIPTS.findall(text)
    page = Page()
    page.feed(text)
    return page.found + (["a mermaid diagram, whose program the theme loads"] if MERMAID.search(text) else [])


def main() -> None:
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(len(sys.argv) != 2)
    site = Path(sys.argv[1])
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css", ".js")]
    found = [f"{path.relative_to(site)} loads {what}" for path in sorted(files) for what in loads(path)]
    if found or not (site / "index.html").exists():
        sys.exit("\n".join(f"check_site: {line}" for line in found or [f"{site} has no index.html"]))
    print(f"check_site: nothing in {len(files)} files of {site} is loaded from elsewhere")


if __name__ == "__main__":
    main()
