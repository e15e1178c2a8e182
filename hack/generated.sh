#!/usr/bin/env bash
# Generates all files that are generated and fails if that changes one. They are
# compared with the work tree, not with the last commit, so that it also holds
# for a change that is not committed yet.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
files() { { find package crossplane.yaml cluster/install apis -name '*.yaml' -o -name 'zz_generated*'; echo docs/api.md; } | sort; }
before=$(files | xargs sha256sum)
make -s generate
after=$(files | xargs sha256sum)
[[ $before = "$after" ]] && exit 0
echo "these generated files were not up to date; they are now:" >&2
diff <(echo "$before") <(echo "$after") | awk '/^[<>]/ { print "  " $3 }' | sort -u >&2
exit 1
