# Debian packages, unpacked in the cache; nothing gets installed. Sourced only.
# shellcheck shell=bash

# Valkey versions and the suites that carry them. A suite listed later may
# override one listed before. sid moves: "9.1" is a key, not a promise, and
# ROOT/.version tells what was found.
declare -A VALKEY_SUITES=(
	[8.0]="bookworm bookworm-backports"
	[8.1]="trixie"
	[9.1]="sid"
)
VALKEY_KEYS=(8.0 8.1 9.1)

# archive prints the address of the Debian archive this machine uses. A bare
# machine has to read its own lists first.
archive() {
	main_archive | grep . || { apt-get -qq update >&2 && main_archive; }
}

main_archive() {
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(REPO_URI) $(COMPONENT) $(RELEASE)' 'Created-By: Packages' |
		awk '$2 == "main" && $3 ~ /^(bookworm|trixie|stable|oldstable|sid|testing)$/ { u = u ? u : $1 } END { print u }'
}

# private_apt SUITE... prints an apt configuration that knows only these suites
# and keeps its lists, cache and (empty) status apart from the machine's.
private_apt() {
	local d="$DEBS/apt/$*" uri s
	d=${d// /+}
	mkdir -p "$d"/{none,state/lists/partial,cache/archives/partial}
	: >"$d/status"
	cat >"$d/apt.conf" <<-CONF
		Dir::State "$d/state";
		Dir::State::status "$d/status";
		Dir::Cache "$d/cache";
		Dir::Etc::sourcelist "$d/sources.list";
		Dir::Etc::sourceparts "$d/none";
		Dir::Etc::preferencesparts "$d/none";
		APT::Architectures "amd64";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
	CONF
	if [[ -z $(find "$d" -name .updated -mmin -60) ]]; then
		uri=$(archive)
		[[ -n $uri ]] || die "no Debian archive in this machine's apt configuration"
		for s in "$@"; do
			echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $s main"
		done >"$d/sources.list"
		APT_CONFIG=$d/apt.conf apt-get -qq -o APT::Update::Error-Mode=any update >&2 ||
			die "the archive $uri does not serve all of: $*"
		touch "$d/.updated"
	fi
	echo "$d/apt.conf"
}

# fetch_debs DIR CONF PACKAGE... downloads packages into DIR.
fetch_debs() {
	local dir=$1 conf=$2
	shift 2
	rm -rf "$dir"
	mkdir -p "$dir"
	(cd "$dir" && APT_CONFIG=$conf apt-get -qq download "$@") || die "cannot download $*"
}

# library_packages CONF PACKAGE... prints the library packages they depend on.
library_packages() {
	local conf=$1
	shift
	APT_CONFIG=$conf apt-cache depends --recurse --important "$@" | grep -E '^z?lib[^ :]+$' | grep -v '^libperl' | sort -u
}

# unpack DIR INTO: all packages of DIR over one merged-/usr tree.
unpack() {
	local f l
	mkdir -p "$2"/usr/{bin,sbin,lib,lib64}
	for l in bin sbin lib lib64; do ln -sfn "usr/$l" "$2/$l"; done
	for f in "$1"/*.deb; do
		dpkg-deb --fsys-tarfile "$f" | tar -x -C "$2" --keep-directory-symlink \
			--exclude=./usr/share/{doc,man,locale,lintian,bug} --exclude='./usr/lib/x86_64-linux-gnu/gconv'
	done
}

# debian_tools unpacks what a node runs besides Kubernetes. The C library stays
# the machine's own: these are its release's packages.
debian_tools() {
	local conf
	[[ -e $TOOLS/.done ]] && return 0
	# shellcheck disable=SC2086
	conf=$(private_apt ${VALKEY_SUITES[8.0]})
	fetch_debs "$DEBS/work-tools" "$conf" containerd runc libseccomp2 containernetworking-plugins \
		nftables libnftables1 libnftnl11 libedit2 libgmp10 libjansson4 libxtables12 libmnl0 libbsd0 libmd0 libtinfo6
	rm -rf "$TOOLS"
	unpack "$DEBS/work-tools" "$TOOLS"
	rm -rf "$DEBS/work-tools"
	touch "$TOOLS/.done"
}

# valkey_root KEY builds ROOTFS/valkey-KEY: three programs, busybox, and just
# the libraries they load.
valkey_root() {
	local key=$1 root=$ROOTFS/valkey-$1 work=$DEBS/work-$1 conf lib=usr/lib/x86_64-linux-gnu f n bb
	[[ -s $root/.version ]] && return 0
	# shellcheck disable=SC2086
	conf=$(private_apt ${VALKEY_SUITES[$key]})
	# shellcheck disable=SC2046
	fetch_debs "$work.debs" "$conf" valkey-server valkey-tools busybox-static \
		$(library_packages "$conf" valkey-server valkey-tools)
	rm -rf "$work" "$root"
	unpack "$work.debs" "$work"

	mkdir -p "$root"/{usr/{bin,sbin,lib64},$lib,etc,tmp,data,proc,sys,dev,run,var/lib,root}
	for f in bin sbin lib lib64; do ln -sfn "usr/$f" "$root/$f"; done
	cp -L "$work/lib64/ld-linux-x86-64.so.2" "$root/usr/lib64/"
	for f in valkey-server valkey-cli valkey-benchmark; do
		cp -L "$work/usr/bin/$f" "$root/usr/bin/"
		"$work/lib64/ld-linux-x86-64.so.2" --library-path "$work/$lib" --list "$work/usr/bin/$f"
	done >"$work.libs"
	! awk -v w="$work/" '/=>/ && index($3, w) != 1' "$work.libs" | grep . >&2 ||
		die "Valkey $key needs libraries that its suite's packages did not bring"
	awk '/=>/ { print $3 }' "$work.libs" | sort -u | while read -r f; do
		cp -L "$f" "$root/$lib/"
	done
	# The name service loads these by name, when it is asked to resolve.
	for n in libnss_files.so.2 libnss_dns.so.2 libresolv.so.2; do
		cp -L "$work/$lib/$n" "$root/$lib/"
	done
	for n in sentinel check-aof check-rdb; do ln -s valkey-server "$root/usr/bin/valkey-$n"; done
	bb=$root/usr/bin/busybox
	cp -L "$work/usr/bin/busybox" "$bb"
	for n in $("$bb" --list); do [[ -e $root/usr/bin/$n ]] || ln -s busybox "$root/usr/bin/$n"; done
	root_accounts "$root" valkey:999:/data
	chmod 1777 "$root/tmp"
	chown 999:999 "$root/data"
	valkey_version "$root" >"$root/.version"
	rm -rf "$work" "$work.debs" "$work.libs"
}

# prometheus and promtool, its checker of rules, print where they are. They need
# nothing but the C library.
prometheus() { prometheus_program prometheus; }
promtool() { prometheus_program promtool; }

prometheus_program() {
	local out=$BIN/$1 work=$DEBS/work-prometheus n
	if [[ ! -x $out ]]; then
		rm -rf "$work"
		mkdir -p "$BIN" "$work"
		(cd "$work" && { apt-get -qq -o APT::Sandbox::User=root download prometheus || {
			apt-get -qq update && apt-get -qq -o APT::Sandbox::User=root download prometheus
		}; }) >&2 || die "cannot download prometheus"
		for n in prometheus promtool; do
			dpkg-deb --fsys-tarfile "$work"/prometheus_*.deb | tar -xO "./usr/bin/$n" >"$BIN/$n.new"
			chmod +x "$BIN/$n.new"
			mv "$BIN/$n.new" "$BIN/$n"
		done
		rm -rf "$work"
	fi
	echo "$out"
}

# root_accounts ROOT NAME:ID:HOME writes the account files of an image.
root_accounts() {
	local name id home
	IFS=: read -r name id home <<<"$2"
	mkdir -p "$1/etc"
	printf '%s\n' root:x:0:0:root:/root:/bin/sh "$name:x:$id:$id:$name:$home:/bin/sh" \
		nobody:x:65534:65534:nobody:/:/bin/false >"$1/etc/passwd"
	printf '%s\n' root:x:0: "$name:x:$id:" nogroup:x:65534: >"$1/etc/group"
	echo 'hosts: files dns' >"$1/etc/nsswitch.conf"
}

# in_root ROOT PROGRAM ARGS... runs a program of a root folder in place.
in_root() {
	local root=$1 prog=$2
	shift 2
	"$root/lib64/ld-linux-x86-64.so.2" --argv0 "$prog" --library-path "$root/usr/lib/x86_64-linux-gnu" "$root/usr/bin/$prog" "$@"
}

valkey_version() { in_root "$1" valkey-server --version | sed -n 's/.* v=\([0-9.]*\).*/\1/p'; }

# rootfs builds all Valkey roots and prints KEY, version and path of each.
rootfs() {
	local key
	for key in "${VALKEY_KEYS[@]}"; do
		valkey_root "$key"
		in_root "$ROOTFS/valkey-$key" valkey-cli --version >/dev/null
		printf '%s\t%s\t%s\n' "$key" "$(<"$ROOTFS/valkey-$key/.version")" "$ROOTFS/valkey-$key"
	done
}
