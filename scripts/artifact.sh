#!/usr/bin/env bash
# All that the verdicts on the papers rest on, as one archive with checksums: out/artifact/bentpipe-papers.tar.xz. Then
# every page is derived from it again, which makes no run, and has to be the same to the byte.
#
# Usage: artifact.sh PROGRAM [ARGUMENT...]; further arguments go to `bentpipe papers --all`
set -euo pipefail
program=$1
shift
out=out/artifact
name=bentpipe-papers
rm -rf "${out:?}"
mkdir -p "$out"
"$program" papers --all --papers papers --quiet --artifact "$out/$name" "$@" >/dev/null
# The same files make the same archive.
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --directory "$out" "$name" |
    xz --threads=0 >"$out/$name.tar.xz"
rm -rf "${out:?}/$name"
tar --extract --file "$out/$name.tar.xz" --directory "$out"
(cd "$out/$name" && sha256sum --check --quiet SHA256SUMS)
"$program" papers --quiet --from "$out/$name" --output "$out/again" | tail -n 1
(cd "$out" && sha256sum "$name.tar.xz" | tee "$name.tar.xz.sha256")
du --summarize --human-readable "$out/$name" "$out/$name.tar.xz"
