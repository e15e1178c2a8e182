#!/usr/bin/env bash
# Runs targets of the Makefile one after the other, each to its end whatever the
# others came to, and sums up: the end of what a failed one printed, what its failed
# tests said, how long each took, and as the last line the number of tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dir=_output/test
rm -rf "$dir"
mkdir -p "$dir"

# count FILE prints how many tests passed, failed and were skipped, from go
# test's own record. A package that failed without a failed test counts as one:
# it did not compile, or it ended halfway.
count() {
	[[ -e $1 ]] || { echo 0 0 0; return; }
	awk '
		match($0, /"Action":"(pass|fail|skip)","Package":"[^"]*"(,"Test":"|[,}])/) {
			split(substr($0, RSTART, RLENGTH), f, "\"")
			if (f[10] == "Test") { n[f[4]]++; if (f[4] == "fail") told[f[8]] = 1 }
			else if (f[4] == "fail" && !told[f[8]]) n["fail"]++
		}
		END { print n["pass"] + 0, n["fail"] + 0, n["skip"] + 0 }' "$1"
}

passed=0 failed=0 skipped=0 report='' broken=()
for layer in "$@"; do
	echo "=== $layer"
	t0=$SECONDS rc=0
	make --no-print-directory "$layer" 2>&1 | tee "$dir/$layer.log" || rc=$?
	read -r p f s < <(count "$dir/$layer.json")
	((rc == 0 || f > 0)) || f=1 # it failed before or after its tests
	result=ok
	((rc == 0 && f == 0)) || { result=FAILED && broken+=("$layer"); }
	report+=$(printf '%-14s %-6s %5d s %6d passed %4d failed %4d skipped' "$layer" "$result" $((SECONDS - t0)) "$p" "$f" "$s")$'\n'
	((passed += p, failed += f, skipped += s)) || true
done

for layer in "${broken[@]}"; do
	printf '\n=== the end of %s/%s.log\n' "$dir" "$layer"
	tail -n 40 "$dir/$layer.log"
done
# What the failed tests said, without what they print of the state of things.
for layer in "${broken[@]}"; do
	awk '/^=== FAIL: / || /^ +[a-z0-9_]+_test\.go:[0-9]+: / && !/: In / { print substr($0, 1, 400) }' "$dir/$layer.log"
done
printf '\n%s%-21s %5d s\n\n' "$report" all $SECONDS
echo "$passed passed, $failed failed, $skipped skipped" | tee "$dir/summary"
((${#broken[@]} == 0))
