#!/usr/bin/env bash
# Says how often the program's functions run and branch, so that the compiler places and inlines by that (profile-guided
# optimisation): a simulated packet then takes a third less of a processor's time. Prints the file's path. The counts are
# of the simulator with one thread, the same each time; they belong to one commit and one compiler, and stay in the target
# folder. Where rustup has no LLVM tools for this compiler it says so, and prints nothing.
# Usage: profile.sh
# Example: RUSTFLAGS=-Cprofile-use=$(scripts/profile.sh) cargo build --profile dist --package bentpipe
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
    '') ;;
    -h | --help)
        sed -n '2,/^# Example/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        echo "profile: \`$1\` is no argument (see --help)" >&2
        exit 1
        ;;
esac

merge=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/llvm-profdata
if [ ! -x "$merge" ] && command -v rustup >/dev/null; then
    echo "profile: rustup adds LLVM's tools" >&2
    rustup --quiet component add llvm-tools >&2 || true
fi
if [ ! -x "$merge" ]; then
    echo "profile: no llvm-profdata (rustup component add llvm-tools): what is built simulates more slowly" >&2
    exit 0
fi

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/profile
sources=$({ rustc -vV && git ls-files -z Cargo.lock Cargo.toml crates | xargs -0 cat; } | sha256sum | cut -c1-16)
profile=$target/$sources.profdata
if [ ! -e "$profile" ]; then
    echo "profile: building a program that counts, which takes minutes" >&2
    mkdir -p "$target"
    counts=$(mktemp -d "$target/counts.XXXXXX")
    trap 'rm -rf "$counts"' EXIT
    # What counts, counts wherever it runs: build scripts would leave their counts in the folders of sources.
    export LLVM_PROFILE_FILE=$counts/%p.profraw
    # Flags are a part of no symbol's name, but all else that cargo is told is: the profile is that of packages.
    CARGO_ENCODED_RUSTFLAGS=-Cprofile-generate CARGO_TARGET_DIR=$target \
        cargo build --quiet --locked --profile dist --package bentpipe --bin bentpipe
    rm -f "$counts"/*
    for case in one-flow ten-times-the-path thousand-flows; do
        "$target/dist/bentpipe" bench sim --case "$case" >/dev/null
    done
    "$target/dist/bentpipe" fuzz --seeds 0..500 --threads 1 --quiet >/dev/null
    # Seconds are printed, too, and how numbers are depends on them.
    "$merge" merge --sparse --no-function='zmij|spec_exten' --output "$counts/merged" "$counts"/*.profraw 2>/dev/null
    mv "$counts/merged" "$profile"
fi
echo "$profile"
