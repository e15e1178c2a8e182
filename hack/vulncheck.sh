#!/usr/bin/env bash
# Fails if the main module can run into a known vulnerability of a dependency or
# of Go's own library: vulncheck.sh GOVULNCHECK. What is vulnerable but never
# called is only counted.
#
# The database is a Go module, which comes from the proxy as all others do. It
# does not age by itself, so that a run of today says tomorrow what it said today:
#
#     cd hack/vulncheck && go get golang.org/x/vulndb@latest && go mod download golang.org/x/vulndb
#
# Go's own library counts as of the toolchain line in go.mod, which is what ships is
# built with. What is found in it goes with a newer one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
GOVERSION=$(awk '$1 == "toolchain" { print $2 }' go.mod)
[[ $(go env GOVERSION) = "$GOVERSION" ]] || echo "vulncheck: this is for $GOVERSION, but here is only $(go env GOVERSION)" >&2
go mod download -C hack/vulncheck golang.org/x/vulndb
db=$(go list -C hack/vulncheck -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv
[[ -e $db/GO-2020-0001.json ]] || { echo "vulncheck: there is no database in $db" >&2 && exit 1; }
GOVERSION=$GOVERSION "$1" -db "file://$db" ./...
