#!/usr/bin/env bash
# Runs every fuzz target for a fixed number of inputs: fuzz.sh [COUNT]. What a
# target found once becomes one of its seeds, which go test always runs.
#
# With GUIDED=1 new inputs are guided by the coverage of old ones. That finds more
# in long runs, and compiles all that is tested once more.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
count=${1:-1000}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

while read -r pkg; do
	go test -c -o "$dir/fuzz" ${GUIDED:+-fuzz .} "./$pkg"
	for target in $(grep -rhoP '^func \KFuzz\w+' --include='*_test.go' "$pkg" | sort); do
		echo "$pkg $target"
		(cd "$pkg" && "$dir/fuzz" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "${count}x" -test.fuzzcachedir "$dir/corpus" -test.parallel 2 >"$dir/log" 2>&1) || {
			cat "$dir/log"
			exit 1
		}
	done
done < <(grep -rlP '^func Fuzz' --include='*_test.go' internal | xargs -n1 dirname | sort -u)
