#!/usr/bin/env bash
# All tests. The live ones take five minutes of real time and wait for most of it. All others compute: they run
# beside them, on what those leave of the processors, and are printed behind them.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo test --workspace --lib --bins --tests --no-run

log=$(mktemp)
others() {
    BENTPIPE_LIVE_TESTS=off nice cargo test --workspace --lib --bins --tests --no-fail-fast || return
    nice cargo test --workspace --doc --quiet
}
# In a process group of their own, so that Ctrl-C ends them all.
set -m
others >"$log" 2>&1 &
others=$!
set +m
trap 'kill -- -"$others" 2>/dev/null || true; rm -f "$log"' EXIT
trap 'exit 130' INT TERM

live=0
# With the same packages as above, lest features differ and all is built once more.
cargo test --workspace --test live || live=$?
status=0
wait "$others" || status=$?
cat "$log"
[ "$status" -eq 0 ] || echo "test: a test failed, see above" >&2
[ "$live" -eq 0 ] || echo "test: a live test failed, see further above" >&2
[ "$status" -eq 0 ] && [ "$live" -eq 0 ]
