#!/usr/bin/env bash
# The matrix of routers: each set-up with and without a gateway, those that this kernel can have here, the others in a
# virtual machine.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "test-routers: building"
cargo build --quiet --bin bentpipe-gateway
cargo test --quiet --test live --no-run
binary=$(cargo test --quiet --test live --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\/live-[^"]*\)".*/\1/p' | tail -n 1)
status=0
echo "test-routers: those that this kernel can have"
(cd crates/cli && BENTPIPE_LIVE_TESTS=routers "$binary") || status=$?
echo "test-routers: those of the virtual machine, one after the other"
scripts/routers-vm.sh "$binary" || status=$?
exit "$status"
