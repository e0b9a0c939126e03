#!/usr/bin/env bash
# How fast the interactive page of 100,000 packets moves: the time between frames in five seconds of panning and zooming, in a headless
# Chromium at 1280 x 800.
# Usage: bench-page.sh BENTPIPE
set -euo pipefail

bentpipe=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
if ! command -v chromium-headless-shell >/dev/null; then
    echo "bench: the page needs chromium-headless-shell: skipped" >&2
    exit 0
fi

files=$(mktemp -d)
browser=
finish() {
    trap - EXIT INT TERM
    if [ -n "$browser" ]; then
        kill "$browser" 2>/dev/null || true
        wait "$browser" 2>/dev/null || true
    fi
    rm -rf "$files"
}
trap finish EXIT
trap 'exit 130' INT TERM

cat >"$files/page.toml" <<'TOML'
[run]
duration = "87s"
seed = 1
[host.server]
[host.client]
[link.sat]
between = ["server", "client"]
rate = "10Mbit/s"
delay = "25ms"
loss = 0.0005
[flow.download]
from = "server"
to = "client"
[record]
packets = true
flow = ["cwnd", "ssthresh", "rto"]
link = ["queue"]
TOML
cd "$files"
"$bentpipe" sim --quiet --no-figures page.toml --output results >/dev/null
"$bentpipe" plot results/packets/point-0-run-0/server.pcapng -o page.html >/dev/null
cp "$here/bench-page.js" bench-page.js
echo '<script src="bench-page.js"></script>' >>page.html

chromium-headless-shell --no-sandbox --disable-gpu --window-size=1280,800 --user-data-dir="$files/browser" \
    --remote-debugging-port=0 --enable-logging=stderr --v=0 "file://$files/page.html" 2>log &
browser=$!
for _ in $(seq 300); do
    if line=$(grep -o 'page: [^"]*' log); then
        echo "$line" | head -1
        exit 0
    fi
    kill -0 "$browser" 2>/dev/null || break
    sleep 0.2
done
echo "bench: the page's frames were not measured:" >&2
tail -5 log >&2
exit 1
