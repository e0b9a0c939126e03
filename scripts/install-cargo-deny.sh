#!/usr/bin/env bash
# Installs cargo-deny, which checks licences, duplicate versions and sources of our dependencies.
# Built without optimisation: it runs for a second and would compile for many minutes.
set -euo pipefail

if command -v cargo-deny >/dev/null || [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo-deny" ]; then
    exit 0
fi
echo "install-cargo-deny: building cargo-deny once, which takes some minutes"
CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug cargo-deny
