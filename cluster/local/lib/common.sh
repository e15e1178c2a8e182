# Paths, process helpers and small tools shared by all parts. Sourced only.
# shellcheck shell=bash disable=SC2034

CACHE=${VALKEY_LOCAL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/provider-valkey}
BIN=$CACHE/bin         # binaries and wrappers, all built or unpacked here
DEBS=$CACHE/debs       # private apt state and downloaded packages
TOOLS=$DEBS/tools      # Debian programs, unpacked, used in place
ROOTFS=$CACHE/rootfs   # root folders that become images
IMAGES=$CACHE/images   # docker-archive files
STATE=$CACHE/cluster   # everything that belongs to the running cluster
LOG=$STATE/log
RUN=$STATE/run
PKI=$STATE/pki
KUBECONFIG_ADMIN=$STATE/kubeconfig

KUBE_VERSION=1.36.3
COREDNS_VERSION=1.14.2
PAUSE_IMAGE=localhost/pause:3.10

say() { echo "local: $*" >&2; }
die() { say "$*"; exit 1; }

# step prints what has been done since the last step, and how long it took.
STEP_T0=${EPOCHREALTIME/./} STEP_LAST=$STEP_T0
step() {
	local now=${EPOCHREALTIME/./}
	printf '%6.1fs  %-42s +%.1fs\n' "$(((now - STEP_T0) / 100000))e-1" "$1" "$(((now - STEP_LAST) / 100000))e-1" >&2
	STEP_LAST=$now
}

# retry TRIES CMD... runs CMD every PAUSE s (0.1) until it works.
retry() {
	local n=$1 i
	shift
	for ((i = 0; i < n; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep "${PAUSE:-0.1}"
	done
	return 1
}

# start_time PID prints when a process started, in ticks since boot. Together
# with the PID it names one process for good, so a stale pid file is harmless.
start_time() {
	local s
	s=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	read -ra s <<<"${s##*) }" # after the program's name, which may hold spaces
	[[ ${s[0]} != Z ]] || return 1
	echo "${s[19]}"
}

boot_id() { cat /proc/sys/kernel/random/boot_id; }

# note_pid NAME PID remembers a process we started.
note_pid() { echo "$2 $(start_time "$2") $(boot_id)" >"$RUN/$1.pid"; }

# pid_of NAME prints the PID of a process we started, if it still runs.
pid_of() {
	local p t b
	read -r p t b 2>/dev/null <"$RUN/$1.pid" || return 1
	[[ $b = "$(boot_id)" && $(start_time "$p") = "$t" ]] || return 1
	echo "$p"
}

# daemon NAME CMD... starts CMD in its own session, unless it runs already.
daemon() {
	local name=$1
	shift
	pid_of "$name" >/dev/null && return 0
	setsid "$@" >>"$LOG/$name.log" 2>&1 </dev/null 9>&- &
	note_pid "$name" $!
}

# gone NAME succeeds once the process is no more.
gone() { ! pid_of "$1"; }

# halt NAME [SIGNAL] ends a process we started and waits for it.
halt() {
	local p
	if p=$(pid_of "$1"); then
		kill "-${2:-TERM}" "$p" 2>/dev/null || true
		retry 100 gone "$1" || kill -KILL "$p" 2>/dev/null || true
		retry 50 gone "$1" || say "$1 (pid $p) does not end"
	fi
	rm -f "$RUN/$1.pid"
}

# host_tools installs the few programs a bare Debian may lack.
host_tools() {
	local want=() pair
	for pair in ip:iproute2 nsenter:util-linux unshare:util-linux setsid:util-linux openssl:openssl pgrep:procps; do
		command -v "${pair%%:*}" >/dev/null || want+=("${pair#*:}")
	done
	((${#want[@]})) || return 0
	say "installing ${want[*]}"
	apt-get -qq update
	DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends -y "${want[@]}" >/dev/null
}
