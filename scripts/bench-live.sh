#!/usr/bin/env bash
# What `crates/cli/tests/live/measured` measures in network namespaces: rates and delays of live links beside the simulator's,
# what gateways gain over a long path, and that halts cost nothing. A figure that is out of its bounds, on a machine that has
# nothing else to do, is a defect.
# Usage: bench-live.sh [NAME]
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
    echo "bench-live: needs root for its network namespaces: run it with sudo" >&2
    exit 1
fi
cargo build --release --quiet --bin bentpipe-gateway
BENTPIPE_LIVE_TESTS=measured exec cargo test --release --quiet --test live -- --nocapture "$@"
