#!/usr/bin/env bash
# Applies each of tests/mutants/*.patch to a copy of the tree, one at a time, builds it and lets the
# fault tests find the defect; if they do not, the gateway's own tests, or the core's or net's where it is theirs.
#   found      a test fails
#   survived   none does
#   timed out  none fails, and one run was ended: a slow machine, or a loop without end. That is no find
#   stale      the patch does not apply any more
#   broken     it does not compile, or a test run ends in another way than by a test that fails
# All but the first make this script fail.
# Usage: mutants.sh [--applies | --compile] [NAME ...]      (of patches, without .patch; all if none is given)
# With --applies it only says which do not apply, in seconds; with --compile, in two minutes instead of thirteen,
# which of them do not compile either.
set -euo pipefail
cd "$(dirname "$0")/.."

seeds=${BENTPIPE_SEEDS:-0..400}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/mutants
patches=$PWD/tests/mutants
export CARGO_TARGET_DIR=$target/build CARGO_INCREMENTAL=1
# git apply is to take the copy for what it is: no repository.
export GIT_CEILING_DIRECTORIES=$target

only=
case ${1:-} in --applies | --compile) only=${1#--} && shift ;; esac
# `make check` looks whether patches apply, and may do so while a whole run goes on.
if [ "$only" = applies ]; then target+=/applies; fi
tree=$target/tree
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
# Builds the tests of a crate.
build() { # CRATE TARGET
    (cd "$tree" && cargo test --profile mutants --locked --no-run -p "bentpipe-$1" "${@:2}") >"$log" 2>&1 || return
    executable=$(sed -n 's/^ *Executable .*(\(.*\))$/\1/p' "$log")
}
# Runs what was built, not by cargo, whose exit code is the same for what fails to build. In $run:
# passed, failed, timed out or broken.
run_tests() { # CRATE SECONDS ARGUMENT...
    local code=0
    (cd "$tree/crates/$1" && timeout --kill-after=10 "$2" "$executable" --quiet "${@:3}") >"$log" 2>&1 || code=$?
    case $code in
        0) run=passed ;;
        101) run=failed ;; # libtest's
        124) run='timed out' ;;
        *) run=broken ;;
    esac
}
compiles() { (cd "$tree" && cargo check --quiet --locked -p bentpipe-gateway) >"$log" 2>&1; }
# The fault tests, up to the first violation, and the seeds that once violated something.
fault_tests() { # SECONDS
    BENTPIPE_SEEDS=$seeds BENTPIPE_ENOUGH=1 run_tests sim "$1" seeds_keep_every_invariant seeds_that_once_violated
}
# In $verdict and $detail: what becomes of one mutant.
try() { # PATCH
    verdict=broken detail=''
    if [ "$only" = applies ]; then
        verdict=applies
        return
    elif [ "$only" = compile ]; then
        detail='it does not compile'
        ! compiles || verdict=compiles detail=''
        return
    fi
    if ! build sim --test fault_testing; then
        detail='it does not compile'
        return
    fi
    fault_tests "$limit"
    case $run in
        failed) verdict=found detail=$(grep -m1 -oE 'seed [0-9]+: [a-z-]+' "$log" || echo 'a fault test'); return ;;
        broken) detail='the fault tests ended otherwise'; return ;;
    esac
    verdict=survived
    [ "$run" = passed ] || verdict='timed out' detail="the fault tests, after $limit s"
    local crates=(gateway) crate
    ! grep -q '^+++ b/crates/core/' "$1" || crates+=(core)
    ! grep -q '^+++ b/crates/testbed/' "$1" || crates+=(net)
    for crate in "${crates[@]}"; do
        if ! build "$crate" --lib; then
            verdict=broken detail="the $crate's tests do not compile"
            return
        fi
        run_tests "$crate" "$limit"
        case $run in
            failed) verdict=found detail="the $crate's $(grep -m1 -oE '^---- \S+' "$log" | cut -c6- || echo tests)"; return ;;
            'timed out') verdict='timed out' detail="the $crate's tests, after $limit s" ;;
            broken) verdict=broken detail="the $crate's tests ended otherwise"; return ;;
        esac
    done
}

# In $limit: seconds that the fault tests may take, from how long they take without any mutant.
without_mutants() {
    echo "mutants: without a mutant, seeds $seeds"
    if ! build sim --test fault_testing; then
        tail -n 30 "$log"
        echo "mutants: the tests do not compile without any mutant"
        exit 1
    fi
    local start=$SECONDS
    fault_tests 600
    if [ "$run" != passed ]; then
        tail -n 30 "$log"
        echo "mutants: the fault tests without any mutant: $run"
        exit 1
    fi
    # A mutant may make them slower, and another program the machine.
    limit=$((60 + 5 * (SECONDS - start)))
}

began=$SECONDS
case $only in
    applies) good=applies ;;
    compile) good=compiles ;;
    *) good=found && without_mutants ;;
esac

declare -A count=([applies]=0 [compiles]=0 [found]=0 [survived]=0 ['timed out']=0 [stale]=0 [broken]=0)
for name in "${names[@]}"; do
    patch=$patches/$name.patch
    start=$SECONDS
    # Lines around the change may have been changed: one on each side is enough.
    if (cd "$tree" && git apply -C1 "$patch" 2>"$log"); then
        try "$patch"
        (cd "$tree" && git apply -C1 --reverse "$patch")
    else
        verdict=stale detail=$(head -n 1 "$log")
    fi
    count[$verdict]=$((count[$verdict] + 1))
    [ "$verdict" != broken ] || tail -n 20 "$log"
    [ "$verdict" = applies ] || printf 'mutants: %-42s %3d s  %s%s\n' "$name" $((SECONDS - start)) "$verdict" "${detail:+: $detail}"
done
verdicts=(found survived 'timed out' stale broken)
case $only in
    applies) verdicts=(applies stale) ;;
    compile) verdicts=(compiles stale broken) ;;
esac
summary=''
for verdict in "${verdicts[@]}"; do summary+=", ${count[$verdict]} $verdict"; done
echo "mutants: ${#names[@]} in $((SECONDS - began)) s: ${summary:2}"
[ "${count[$good]}" -eq ${#names[@]} ]
