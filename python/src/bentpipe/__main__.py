"""`python -m bentpipe` is the program `bentpipe` that came with this package."""

import os
import shutil
import sys
import sysconfig


def main() -> None:
    """Becomes the program."""
    name = "bentpipe"
    beside = os.path.join(sysconfig.get_path("scripts"), name)
    program = beside if os.path.exists(beside) else shutil.which(name)
    if program is None:
        sys.exit("bentpipe: the program is not installed beside this package")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
