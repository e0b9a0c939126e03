#!/usr/bin/env bash
# All tests. The live ones take five minutes of real time and wait for most of it. All others compute: they run
# beside them, on what those leave of the processors, and are printed behind them. What has failed is said once more at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
echo "test: building, which takes minutes the first time"
cargo test --lib --bins --tests --no-run

others() {
    BENTPIPE_LIVE_TESTS=off nice cargo test --lib --bins --tests --no-fail-fast || return
    nice cargo test --doc --quiet
}
echo "test: the live tests; all others run beside them, which takes ten minutes more on two processors"
# In a process group of their own, so that Ctrl-C ends them all.
set -m
others >"$logs/others" 2>&1 &
others=$!
set +m
trap 'kill -- -"$others" 2>/dev/null || true; rm -rf "$logs"' EXIT
trap 'exit 130' INT TERM

live=0
# With the same packages as above, lest features differ and all is built once more.
cargo test --test live 2>&1 | tee "$logs/live" || live=$?
if kill -0 "$others" 2>/dev/null; then echo "test: the others go on, and are printed when they end"; fi
status=0
wait "$others" || status=$?
cat "$logs/others"

# The names and reasons in a log, as both test harnesses print them, and where a build or a document fails its errors.
failures() {
    awk '/^failures:$/ { shows = 1 } /^test result:/ { shows = 0 } shows || /^error/' "$1"
}
if [ "$status" -ne 0 ]; then
    echo "test: a test failed:" >&2
    failures "$logs/others" >&2
fi
if [ "$live" -ne 0 ]; then
    echo "test: a live test failed:" >&2
    failures "$logs/live" >&2
fi
if grep -E '^(live tests|(own|routers)::.*) skipped: ' "$logs/live" >"$logs/skipped"; then
    sed 's/^/test: /' "$logs/skipped"
fi
[ "$status" -eq 0 ] && [ "$live" -eq 0 ]
