#!/usr/bin/env bash
# Stops with instructions if there is no cargo.
set -euo pipefail

if ! command -v cargo >/dev/null; then
    cat >&2 <<'TEXT'
bentpipe is written in Rust, and there is no `cargo` here. Get it in one of these ways:
  rustup (any system, newest):   https://rustup.rs
  Debian 13 or newer, Ubuntu:    sudo apt-get install cargo   (1.88 or newer is needed)
  Fedora:                        sudo dnf install cargo
  Arch Linux:                    sudo pacman -S rust
Then type the same command again.
TEXT
    exit 1
fi
