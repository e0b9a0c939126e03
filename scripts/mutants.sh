#!/usr/bin/env bash
# Puts the mutants of tests/mutants into a copy of the tree, builds it once, and lets the tests find each: those of the
# crate that it is in, then the gateway's, then the fault tests; but first, alone, the one that its file names as `finder`.
#   found      a test fails
#   survived   none does
#   timed out  none fails, and one run was ended: a slow machine, or a loop without end. That is no find
#   stale      what it changes is not there any more
#   broken     it does not compile, or a test run ends in another way than by a test that fails
# All but the first make this script fail.
# Usage: mutants.sh [--applies | --compile | --keep] [NAME ...]      (of mutants, without .toml; all if none is given)
# With --applies it only says which do not apply, in a second; with --compile, which of them do not compile either. With
# --keep the test that has found a mutant is written into its file, and runs first from then on.
# BENTPIPE_SEEDS=A..B are the seeds of the fault tests. crates/mutants does all this.
set -euo pipefail
cd "$(dirname "$0")/.."
exec cargo run --quiet --locked --profile tools --package bentpipe-mutants -- "$@"
