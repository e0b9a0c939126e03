#!/usr/bin/env bash
# Lets cargo-mutants change, one after the other, the functions that a change touches, and runs the tests of the crate
# they are in. What it lists as missed, no test there notices.
# Usage: mutants-changed.sh [BASE]      (what the change is compared with: origin/main)
set -euo pipefail
cd "$(dirname "$0")/.."

base=${1:-origin/main}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/mutants-changed
if ! command -v cargo-mutants >/dev/null; then
    echo "mutants-changed: building cargo-mutants once, which takes some minutes"
    CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug cargo-mutants
fi
mkdir -p "$target"
# The pure crates': the others' tests need the kernel, or whole experiments.
git diff --merge-base "$base" -- crates/{core,gateway,config,links,scenario,results,sim} >"$target/diff"
if [ ! -s "$target/diff" ]; then
    echo "mutants-changed: nothing differs from $base in core, gateway, config, links, scenario, results and sim"
    exit 0
fi
cargo mutants --in-diff "$target/diff" --profile mutants --output "$target" -- --locked
