#!/usr/bin/env bash
# Builds packages into out/package: `bentpipe-gateway` for routers, and `bentpipe` with everything. Built twice of one
# commit, they are the same bytes.
# Usage: package.sh deb|rpm [bentpipe-gateway|bentpipe]...      (without a name: both)
# Example: scripts/package.sh deb bentpipe-gateway
set -euo pipefail
cd "$(dirname "$0")/.."

kind=${1:-}
case $kind in
    deb) tool=cargo-deb ;;
    rpm) tool=cargo-generate-rpm ;;
    -h | --help)
        sed -n '2,/^# Example/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *)
        echo "package: \`$kind\` is none of deb, rpm (see --help)" >&2
        exit 1
        ;;
esac
shift
packages=("$@")
if [ $# -eq 0 ]; then packages=(bentpipe-gateway bentpipe); fi

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target
# The tools of packagers, built once and kept with what else is built.
tools=$target/package-tools
if [ ! -x "$tools/bin/$tool" ]; then
    echo "package: building $tool once, which takes some minutes"
    cargo install --quiet --locked --root "$tools" --target-dir "$tools/build" "$tool"
    rm -rf "$tools/build"
fi

# Nothing of when and where it is built.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC
flags=("--remap-path-prefix=$PWD=/bentpipe" "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo")

out=out/package
mkdir -p "$out"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
for package in "${packages[@]}"; do
    profile=''
    case $package in
        bentpipe-gateway) crate=bentpipe-daemon folder=crates/daemon ;;
        bentpipe) crate=bentpipe folder=crates/cli profile=$(scripts/profile.sh) ;;
        *)
            echo "package: \`$package\` is none of bentpipe-gateway, bentpipe" >&2
            exit 1
            ;;
    esac
    echo "package: building $package, linked as a whole, which takes minutes"
    all=("${flags[@]}" ${profile:+"-Cprofile-use=$profile"})
    CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${all[*]}") \
        cargo build --quiet --locked --profile dist --package "$crate" --bin "$package"
    rm -rf "${out:?}/$package"
    mkdir -p "$out/$package"
    "$target/dist/$package" generate "$out/$package"
    {
        printf '%s (%s-1) unstable; urgency=medium\n\n' "$package" "$version"
        printf '  * Of commit %s; see CHANGELOG.md.\n\n' "$(git rev-parse --short=12 HEAD)"
        printf ' -- The bentpipe developers <packages@bentpipe.invalid>  %s\n' "$(date -R -d "@$SOURCE_DATE_EPOCH")"
    } >"$out/$package/changelog"
    case $kind in
        deb) "$tools/bin/cargo-deb" --quiet --no-build --no-strip --profile dist --package "$crate" --output "$out/" ;;
        rpm) "$tools/bin/cargo-generate-rpm" --profile dist --package "$folder" --output "$out/" ;;
    esac
done
ls -sh "$out"/*."$kind"
