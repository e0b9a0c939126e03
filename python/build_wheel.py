"""The build backend: maturin's, with the program `bentpipe` built before and laid into the wheel.

maturin builds either an extension module or programs. The program is therefore built first, into the folder of
files that maturin takes into a wheel's `scripts`.

Both are built with Cargo's profile `release`, or with the one that `BENTPIPE_WHEEL_PROFILE` names. If there is a
program already, `BENTPIPE_WHEEL_PROGRAM` says where, from the root of the repository; `none` leaves it out.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import maturin
from maturin import get_requires_for_build_editable, get_requires_for_build_sdist, get_requires_for_build_wheel

__all__ = [
    "build_editable",
    "build_program",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "bentpipe.data" / "scripts"
PROFILE = ["--profile", os.environ.get("BENTPIPE_WHEEL_PROFILE", "release")]


def build_program() -> None:
    """Builds `bentpipe`, unless it is there, and lays it where maturin finds it."""
    given = os.environ.get("BENTPIPE_WHEEL_PROGRAM")
    if given == "none":
        (SCRIPTS / "bentpipe").unlink(missing_ok=True)
        SCRIPTS.mkdir(parents=True, exist_ok=True)
        return
    program = HERE.parent / given if given else built_program()
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    place = SCRIPTS / "bentpipe"
    shutil.copy(program, place)
    strip = shutil.which("strip")
    if strip:
        subprocess.run([strip, place], check=True)
    os.chmod(place, 0o755)


def built_program() -> Path:
    """The program, as Cargo has built it."""
    command = ["cargo", "build", *PROFILE, "--locked", "--package", "bentpipe", "--bin", "bentpipe"]
    command += ["--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, check=True, text=True)
    messages = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
    programs = [message["executable"] for message in messages if message.get("executable")]
    return Path(programs[-1])


def with_profile(config_settings):
    """The settings with the profile as maturin takes it."""
    settings = dict(config_settings or {})
    settings.setdefault("build-args", " ".join(PROFILE))
    return settings


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build_program()
    return maturin.build_wheel(wheel_directory, with_profile(config_settings), metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    build_program()
    return maturin.build_editable(wheel_directory, with_profile(config_settings), metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    return maturin.build_sdist(sdist_directory, config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel
