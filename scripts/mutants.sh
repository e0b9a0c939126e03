#!/usr/bin/env bash
# Applies each of tests/mutants/*.patch to a copy of the tree, one at a time, builds it and lets the
# fault tests find the defect; if they do not, the gateway's own tests, or the core's where it is the core's. A mutant that nothing finds,
# a patch that does not apply any more and one that does not compile are failures.
# Usage: mutants.sh [NAME ...]      (of patches, without .patch; all if none is given)
set -euo pipefail
cd "$(dirname "$0")/.."

seeds=${BENTPIPE_SEEDS:-0..400}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/mutants
tree=$target/tree
patches=$PWD/tests/mutants
export CARGO_TARGET_DIR=$target/build CARGO_INCREMENTAL=1
# git apply is to take the copy for what it is: no repository.
export GIT_CEILING_DIRECTORIES=$target

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for patch in "$patches"/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi

mkdir -p "$target"
rm -rf "$tree"
mkdir "$tree"
git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
    tar --null --files-from=- --create | tar --extract --directory "$tree"
# Cargo goes by times: what an interrupted run had mutated must be newer than what it built.
sed -n 's/^+++ b\///p' "$patches"/*.patch | sort -u | (cd "$tree" && xargs touch)

log=$target/log
build() { (cd "$tree" && cargo test --profile mutants --locked --quiet "$@" --no-run) >"$log" 2>&1; }
# The fault tests, up to the first violation. A mutant that goes round in circles is found as well.
fault_tests() {
    (cd "$tree" && BENTPIPE_SEEDS=$seeds BENTPIPE_ENOUGH=1 timeout 120 cargo test --profile mutants \
        --locked --quiet -p bentpipe-sim --test fault_testing seeds_keep_every_invariant) >"$log" 2>&1
}
crate_tests() {
    (cd "$tree" && timeout 120 cargo test --profile mutants --locked --quiet -p "bentpipe-$1" --lib) \
        >"$log" 2>&1
}
# The crate whose own tests fail with the mutant, if there is one.
caught_by_tests() {
    local crates=(gateway) crate
    ! grep -q '^+++ b/crates/core/' "$1" || crates+=(core)
    for crate in "${crates[@]}"; do
        if build -p "bentpipe-$crate" --lib && ! crate_tests "$crate"; then
            found="the $crate's $(grep -m1 -oE '^---- \S+' "$log" | cut -c6- || echo "tests")"
            return 0
        fi
    done
    return 1
}

began=$SECONDS
echo "mutants: without a mutant, seeds $seeds"
if ! build -p bentpipe-sim --test fault_testing || ! fault_tests; then
    tail -n 30 "$log"
    echo "mutants: the tests fail without any mutant"
    exit 1
fi

failures=0
for name in "${names[@]}"; do
    patch=$patches/$name.patch
    start=$SECONDS
    if ! (cd "$tree" && git apply --check "$patch"); then
        verdict="STALE: the patch does not apply"
        failures=$((failures + 1))
    else
        (cd "$tree" && git apply "$patch")
        if ! build -p bentpipe-sim --test fault_testing; then
            tail -n 20 "$log"
            verdict="DOES NOT COMPILE"
            failures=$((failures + 1))
        elif ! fault_tests; then
            found=$(grep -m1 -oE 'seed [0-9]+: [a-z-]+' "$log" || echo "a fault test")
            verdict="caught by $found"
        elif caught_by_tests "$patch"; then
            verdict="caught by $found"
        else
            verdict="NOT CAUGHT"
            failures=$((failures + 1))
        fi
        (cd "$tree" && git apply --reverse "$patch")
    fi
    printf 'mutants: %-30s %3d s  %s\n' "$name" $((SECONDS - start)) "$verdict"
done
echo "mutants: ${#names[@]} in $((SECONDS - began)) s, $failures not as they should be"
[ "$failures" -eq 0 ]
