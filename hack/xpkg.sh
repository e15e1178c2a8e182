#!/usr/bin/env bash
# xpkg.sh VERSION FOLDER builds the Crossplane package with the provider in it,
# one file for each architecture. "crossplane xpkg push -f" takes all at once and
# makes one multi-architecture package of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$1 out=$2
cli=$(cluster/crossplane/crossplane cli)
for arch in ${XPKG_ARCHS:-amd64 arm64}; do
	dir=$out/linux_$arch
	mkdir -p "$dir"
	GOARCH=$arch make --no-print-directory build OUT="$dir" VERSION="$version"
	cluster/local/local image-provider "$dir/provider" "localhost/provider-valkey:$version-$arch" "$dir/runtime.tar" "$arch"
	"$cli" xpkg build --package-root package --examples-root examples \
		--embed-runtime-image-tarball "$dir/runtime.tar" -o "$dir/provider-valkey-$version.xpkg"
done
