#!/usr/bin/env bash
# Says whether a change of the sources leaves all that the program says as it was: for moves and other work that is to
# change nothing. Compared are, as text or by hash:
#   fuzz        what came of the seeds 0..10,000, with a digest of every packet's arrival
#   behaviour   the table of recoveries and congestion controls, and the comparison with ns-2
#   papers      the papers' quick figures as pages, without the commit's name; with --papers all of them (hours)
#   scenarios   each example's tables, shortened to eight seconds
#   help        the help of each subcommand
# Usage: same.sh --keep [--papers]    keeps what the program says now: run it before a change
#        same.sh [--papers]           compares with what was kept: "same", or what differs, and exit code 1
# What is kept is in target/same, and stays until the next --keep.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
keep=false papers=--quick
for argument in "$@"; do
    case $argument in
        --keep) keep=true ;;
        --papers) papers=--all ;;
        *) echo "same: unknown argument $argument (see the head of $0)" >&2 && exit 2 ;;
    esac
done
kept=$target/same/kept now=$target/same/now
if ! $keep && [ ! -d "$kept" ]; then
    echo "same: nothing is kept to compare with: scripts/same.sh --keep, before the change" >&2
    exit 2
fi

# The help of a program, or of a command of it, and of all below that.
help_of() { # PROGRAM COMMAND...
    local text
    text=$("$target/release/$1" "${@:2}" --help)
    printf '$ %s\n%s\n\n' "$*" "$text"
    sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' <<<"$text" | while read -r command; do
        [ "$command" = help ] || help_of "$@" "$command"
    done
}

began=$SECONDS
step() { echo "same: $1 ($((SECONDS - began)) s)"; }
step 'building'
cargo build --release --quiet --locked --bin bentpipe --bin bentpipe-gateway
bentpipe=$target/release/bentpipe
rm -rf "$now" "$target/same/papers"
mkdir -p "$now/papers" "$now/scenarios"

step 'fuzz'
"$bentpipe" fuzz --seeds 0..10000 --shrink 0 --folder "$now" --quiet --json |
    sed 's/"seconds":[0-9.]*,//' >"$now/fuzz.json" || [ -s "$now/fuzz.json" ]

step 'behaviour'
# They fail where their files in the tree are not what they find.
if ! cargo test --quiet --locked -p bentpipe-sim --test runs -- snapshot concordance >"$now/behaviour.log" 2>&1; then
    sed '/Compiling\|Finished\|Running/d; s/finished in .*//' "$now/behaviour.log" >"$now/behaviour"
else
    cp crates/sim/tests/snapshot.txt docs/concordance.md "$now"
fi
rm "$now/behaviour.log"

step "papers $papers"
"$bentpipe" papers "$papers" --papers papers --quiet --output "$target/same/papers" --docs "$now/papers" >/dev/null ||
    compgen -G "$now/papers/*.md" >/dev/null
find "$now/papers" -name '*.md' -exec sed -i 's/Made at commit .*/Made at a commit./' {} +

step 'scenarios'
for file in scenarios/*.toml; do
    name=$(basename "$file" .toml)
    tables=$target/same/tables/$name
    rm -rf "$tables"
    "$bentpipe" sim "$file" --quiet --runs 1 --set run.duration=8s --set run.warm-up=1s --output "$tables" >/dev/null
    (cd "$tables" && find . -type f -not -path './runs/*' -print0 | sort -z | xargs -0 sha256sum) >"$now/scenarios/$name"
done

step 'help'
{ help_of bentpipe && help_of bentpipe-gateway; } >"$now/help"

if $keep; then
    rm -rf "$kept"
    mv "$now" "$kept"
    echo "same: kept, after $((SECONDS - began)) s"
elif diff --recursive --unified=0 "$kept" "$now" >"$target/same/difference"; then
    echo "same: same, after $((SECONDS - began)) s"
else
    head --lines=40 "$target/same/difference"
    echo "same: $(grep -c '^[-+]' "$target/same/difference") lines differ; all of them are in $target/same/difference" >&2
    exit 1
fi
