"""Checks what is in wheels of the package: the module and the program are there, both are of the architecture in the
wheel's name, both need no glibc later than its tag, nothing else in it is compiled, and the licences' texts, type stubs and
the mark of typed packages are there.

Usage: check_wheel.py WHEEL...
"""

from __future__ import annotations

import re
import struct
import sys
import zipfile
from pathlib import Path

#: ELF's e_machine, by what wheels' names call an architecture.
MACHINES = {"x86_64": 62, "aarch64": 183}


def check(path: Path) -> str:
    """What was found, in a line.

    Raises:
        ValueError: something is not as it is to be.
    """
    name = re.fullmatch(r"bentpipe-.+-cp311-abi3-.*manylinux_2_(\d+)_(x86_64|aarch64)\.whl", path.name)
    if name is None:
        raise ValueError("its name is no abi3 wheel's for manylinux")
    glibc, architecture = int(name[1]), name[2]
    with zipfile.ZipFile(path) as wheel:
        there = {Path(entry).name for entry in wheel.namelist()}
        if lacks := {"LICENSE-APACHE", "LICENSE-MIT", "_bentpipe.pyi", "py.typed"} - there:
            raise ValueError(f"it lacks {', '.join(sorted(lacks))}")
        compiled = {entry: content for entry in wheel.namelist() if (content := wheel.read(entry)).startswith(b"\x7fELF")}
    kinds = sorted(Path(entry).name for entry in compiled)
    if kinds != ["_bentpipe.abi3.so", "bentpipe"]:
        raise ValueError(f"compiled are {', '.join(compiled) or 'none'}, and not one module and one program")
    needed = []
    for entry, content in compiled.items():
        (machine,) = struct.unpack_from("<H", content, 18)
        if machine != MACHINES[architecture]:
            raise ValueError(f"{entry} is of ELF machine {machine}, and {architecture} is {MACHINES[architecture]}")
        needed.append(max(int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", content)))
        if needed[-1] > glibc:
            raise ValueError(f"{entry} needs glibc 2.{needed[-1]}, and the tag says 2.{glibc}")
    return f"{architecture}: module and program, glibc 2.{max(needed)}, {path.stat().st_size / 2**20:.1f} MiB"


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(len(sys.argv) < 2)
    for path in map(Path, sys.argv[1:]):
        try:
            print(f"check_wheel: {check(path)}")
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            sys.exit(f"check_wheel: {path}: {error}")


if __name__ == "__main__":
    main()
