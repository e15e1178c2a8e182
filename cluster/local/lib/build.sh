# Binaries from Go modules and images from root folders. Sourced only.
# shellcheck shell=bash

go_build() {
	local dir=$1 out=$2 pkg=$3 flags=$4
	command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
	(cd "$dir" && CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -buildvcs=false -mod=readonly" nice -n 5 \
		go build -trimpath -ldflags "$flags" -o "$out.new" "$pkg")
	mv "$out.new" "$out"
}

# binary NAME DIR PACKAGE LDFLAGS builds BIN/NAME unless the sources and flags
# are those it was built from. Go's own cache would find that out as well, but
# takes seconds for 3000 packages. PACKAGE may also be one that go.mod pins.
binary() {
	local name=$1 dir=$2 pkg=$3 flags=$4 key
	key=$({ cat "$dir/go.mod" "$dir/go.sum" && { [[ ! -d $dir/$pkg ]] || cat "$dir/$pkg"/*.go; } && echo "$flags"; } | sha256sum)
	[[ -x $BIN/$name && $key = "$(cat "$BIN/.$name.key" 2>/dev/null)" ]] && return 0
	say "building $name"
	go_build "$dir" "$BIN/$name" "$pkg" "$flags"
	echo "$key" >"$BIN/.$name.key"
}

binaries() {
	local p flags="-s -w"
	mkdir -p "$BIN"
	for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		flags+=" -X $p.gitVersion=v$KUBE_VERSION -X $p.gitMajor=1 -X $p.gitMinor=${KUBE_VERSION:2:2} -X $p.gitTreeState=clean"
	done
	binary kube "$HERE" ./cmd/kube "$flags"
	ln -sfn kube "$BIN/kubectl"
	binary coredns "$HERE" ./cmd/coredns "-s -w"
	binary pause "$HERE" ./cmd/pause "-s -w"
	binary mkimage "$HERE/../images/mkimage" . "-s -w"
	for p in valkey-cli valkey-benchmark; do wrapper "$p" 9.1 "$p"; done
	for p in "${VALKEY_KEYS[@]}"; do wrapper valkey-cli "$p" "valkey-cli-$p"; done
	printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$TOOLS/usr/lib/x86_64-linux-gnu" "$TOOLS/usr/sbin/nft" >"$BIN/nft"
	chmod +x "$BIN/nft"
}

# wrapper PROGRAM VERSION NAME puts a program of Valkey on the clients' PATH.
wrapper() {
	local r=$ROOTFS/valkey-$2
	printf '#!/bin/sh\nexec %q --argv0 %s --library-path %q %q "$@"\n' "$r/lib64/ld-linux-x86-64.so.2" "$1" \
		"$r/usr/lib/x86_64-linux-gnu" "$r/usr/bin/$1" >"$BIN/$3"
	chmod +x "$BIN/$3"
}

# image FILE INPUT MKIMAGE-ARGS... packs an image if INPUT or the packer is newer.
image() {
	local out=$IMAGES/$1.tar input=$2
	shift 2
	[[ $out -nt $input && $out -nt $BIN/mkimage ]] && return 0
	"$BIN/mkimage" -o "$out" "$@"
}

images() {
	local key root full tags
	mkdir -p "$IMAGES"
	image pause "$BIN/pause" -file "$BIN/pause=/pause" -tag "$PAUSE_IMAGE" -user 65535:65535 -entrypoint /pause
	image coredns "$BIN/coredns" -file "$BIN/coredns=/coredns" -tag "localhost/coredns:$COREDNS_VERSION" -entrypoint /coredns
	for key in "${VALKEY_KEYS[@]}"; do
		root=$ROOTFS/valkey-$key full=$(<"$ROOTFS/valkey-$key/.version")
		tags=(-tag "docker.io/valkey/valkey:$key" -tag "docker.io/valkey/valkey:$full")
		image "valkey-$key" "$root/.version" -root "$root" "${tags[@]}" -user 999:999 -workdir /data -entrypoint valkey-server
	done
	busybox_root
	image busybox "$ROOTFS/busybox/bin/busybox" -root "$ROOTFS/busybox" -tag docker.io/library/busybox:1 -cmd sh
}

# busybox_root is an image that is anything but Valkey.
busybox_root() {
	local r=$ROOTFS/busybox n
	[[ -x $r/bin/busybox ]] && return 0
	mkdir -p "$r"/{bin,etc,tmp,proc,sys,dev}
	chmod 1777 "$r/tmp"
	root_accounts "$r" user:999:/tmp
	for n in $("$ROOTFS/valkey-9.1/usr/bin/busybox" --list); do ln -sfn busybox "$r/bin/$n"; done
	rm -f "$r/bin/busybox"
	cp "$ROOTFS/valkey-9.1/usr/bin/busybox" "$r/bin/busybox"
}

# image_provider BINARY TAG OUT [ARCH] packs the provider: its binary and accounts.
image_provider() {
	local r
	(($# == 3 || $# == 4)) || die "usage: local image-provider BINARY TAG OUT.tar [ARCH]"
	binary mkimage "$HERE/../images/mkimage" . "-s -w"
	r=$(mktemp -d)
	chmod 755 "$r"
	root_accounts "$r" provider:65532:/
	"$BIN/mkimage" -o "$3" -root "$r" -file "$1=/provider" -tag "$2" -user 65532:65532 -entrypoint /provider -arch "${4:-amd64}"
	rm -rf "$r"
}

build() {
	mkdir -p "$CACHE"
	debian_tools
	step "Debian programs"
	rootfs >/dev/null
	step "Valkey root folders"
	binaries
	step "binaries"
	images
	step "images"
}
