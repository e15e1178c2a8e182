# Nodes: a few namespaces each, with a containerd, kubelet and kube-proxy of
# its own. Sourced only.
# shellcheck shell=bash

NODE_MEMORY_MIB=7800 # what a node has to give; all share the machine's
CGROUP=pvk

node_dir() { echo "$STATE/nodes/$1"; }
node_running() { pid_of "$1" >/dev/null; }
node_ctr() { "$TOOLS/usr/bin/ctr" -a "$(node_dir "$1")/run/containerd/containerd.sock" -n k8s.io "${@:2}"; }

# node_files NODE writes its configuration, from manifests/node and the facts
# of this node.
node_files() {
	local n=$1 d f total reserve
	d=$(node_dir "$n")
	total=$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
	reserve=$((total > NODE_MEMORY_MIB + 100 ? total - NODE_MEMORY_MIB - 100 : 0))
	mkdir -p "$d"/{lib/kubelet,log,run,sysctl,cni,etc,containerd}
	for f in "$HERE"/manifests/node/*; do
		sed "s|@NODE@|$n|g; s|@IP@|$(node_ip "$n")|g; s|@NUMBER@|${n#n}|g; s|@DIR@|$d|g; s|@TOOLS@|$TOOLS|g
			s|@PKI@|$PKI|g; s|@PAUSE@|$PAUSE_IMAGE|g; s|@CGROUP@|$CGROUP|g; s|@RESERVE@|${reserve}Mi|g
			s|@POD_NET@|$POD_NET|g; s|@DNS_IP@|$DNS_IP|g; s|@DOMAIN@|$DOMAIN|g" "$f" >"$d/etc/${f##*/}"
	done
	mv "$d/etc/cni.conflist" "$d/cni/10-pvk.conflist"
	node_registry "$n"
}

# node_registry NODE has it pull from the registry among the clients, which
# speaks no TLS. containerd reads this anew at every pull.
node_registry() {
	local d
	d=$(node_dir "$1")/hosts/$REGISTRY
	mkdir -p "$d"
	printf 'server = "http://%s"\n[host."http://%s"]\n' "$REGISTRY" "$REGISTRY" >"$d/hosts.toml"
}

# cgroup_roots prints the folders that need a cgroup: one for each
# hierarchy of version 1, or the single one of version 2.
cgroup_roots() {
	local c
	if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
		echo /sys/fs/cgroup
		return
	fi
	for c in /sys/fs/cgroup/*/; do
		[[ -e $c/cgroup.procs ]] && echo "${c%/}"
	done
}

# node_cgroups NODE makes its cgroups anew: cAdvisor spends 3 s on each one that
# a dead container has left behind, and the kubelet waits for that.
node_cgroups() {
	local root dir f
	for root in $(cgroup_roots); do
		cgroup_remove "$root/$CGROUP/$1"
		for dir in "$root/$CGROUP" "$root/$CGROUP/$1"; do
			mkdir -p "$dir"
			# An empty cpuset takes no process, and is not inherited.
			for f in cpuset.cpus cpuset.mems; do
				[[ ! -e $root/$f || -s $dir/$f && -n $(<"$dir/$f") ]] || cat "$root/$f" >"$dir/$f"
			done
		done
		[[ $root = /sys/fs/cgroup ]] || continue
		for dir in "$root" "$root/$CGROUP"; do
			sed 's/\</+/g' "$root/cgroup.controllers" >"$dir/cgroup.subtree_control"
		done
	done
}

cgroup_remove() {
	[[ ! -d $1 ]] || find "$1" -depth -type d -exec rmdir {} + 2>/dev/null || say "cgroup $1 is still in use"
}

cgroups_remove() {
	local root
	for root in $(cgroup_roots); do cgroup_remove "$root/$CGROUP"; done
}

# node_network NODE links it to the bridge. Service addresses get a route, so
# that kube-proxy sees them; what it does not translate finds nobody there.
node_network() {
	local n=$1 ns=pvk-$1
	namespace "$ns"
	if ! { ip -n "$NS_CP" link show "pvk-$n" && ip -n "$ns" link show eth0; } >/dev/null 2>&1; then
		ip -n "$ns" link del eth0 2>/dev/null || true
		ip -n "$NS_CP" link del "pvk-$n" 2>/dev/null || true
		ip -n "$NS_CP" link add "pvk-$n" type veth peer name eth0 netns "$ns"
	fi
	ip -n "$NS_CP" link set "pvk-$n" master "$BRIDGE"
	ip -n "$ns" addr replace "$(node_ip "$n")/24" dev eth0
	ip -n "$ns" link set eth0 up
	ip -n "$ns" route replace "$SERVICE_NET" dev eth0
	nsenter --net="/run/netns/$ns" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
}

# node_link NODE up|down: a node whose link is down is cut off from all others.
node_link() {
	ip -n "$NS_CP" link set "pvk-$1" "$2"
	if [[ $2 = down ]]; then touch "$RUN/$1.cut"; else rm -f "$RUN/$1.cut"; fi
	service_route
}

# node_launch NODE [ZONE] starts its processes, unless they run.
node_launch() {
	local n=$1 d zone outer inner
	d=$(node_dir "$n")
	node_running "$n" && return 0
	zone=${2:-$(cat "$d/zone" 2>/dev/null || echo "${DEFAULT_ZONE[$n]}")}
	node_files "$n"
	echo "$zone" >"$d/zone"
	node_cgroups "$n"
	node_network "$n"
	ip -n "$NS_CP" link set "pvk-$n" up
	rm -f "$RUN/$n.cut"
	pod_routes "pvk-$n" "$n"
	find "$d/run" -mindepth 1 -delete # as a reboot would
	setsid nsenter --net="/run/netns/pvk-$n" unshare --mount --pid --uts --ipc --fork --kill-child \
		env -i "PATH=$PATH" "$HERE/lib/node-init" "$n" "$d" "$BIN" "$TOOLS" "$PKI" "$LOG" "$zone" "$CP_IP" \
		>>"$LOG/$n-init.log" 2>&1 </dev/null 9>&- &
	outer=$!
	retry 100 pgrep -P "$outer" || trouble "$n-init"
	inner=$(pgrep -P "$outer")
	note_pid "$n" "$inner"
}

# node_import NODE imports the archives that the node does not have.
node_import() {
	local n=$1 d f mark sum
	d=$(node_dir "$n")/containerd
	mkdir -p "$d/imported"
	retry 300 node_ctr "$n" version || trouble "$n-containerd"
	for f in "$IMAGES"/*.tar "$STATE"/images/*.tar; do
		mark=$d/imported/${f##*/}
		[[ -e $f && ! $mark -nt $f ]] || continue
		sum=$(sha256sum <"$f")
		if [[ $sum != "$(cat "$mark" 2>/dev/null)" ]]; then
			node_ctr "$n" images import "$f" >/dev/null || return 1
		fi
		echo "$sum" >"$mark"
	done
}

# load_image FILE... imports archives on all nodes: now on those that run, and
# on the others when they start. The last one to use an image's name has it.
load_image() {
	local n f p jobs=()
	(($#)) || die "usage: local load-image FILE.tar..."
	mkdir -p "$STATE/images"
	lock
	for f in "$@"; do
		cp "$f" "$STATE/images/"
		rm -f "$STATE"/nodes/*/containerd/imported/"${f##*/}"
	done
	for n in "${NODES[@]}"; do
		node_running "$n" || continue
		node_import "$n" &
		jobs+=($!)
	done
	((${#jobs[@]})) || die "no node runs"
	for p in "${jobs[@]}"; do wait "$p" || die "the import failed"; done
}

node_ready() {
	# A kubelet that answers, first: after a restart the stored state is old.
	kubectl get --raw "/api/v1/nodes/$1/proxy/healthz" >/dev/null 2>&1 &&
		[[ $(kubectl get node "$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') = True ]]
}

nodes_wait() {
	local n
	for n in "$@"; do
		PAUSE=0.3 retry 300 node_ready "$n" || trouble "$n-kubelet"
	done
}

# node start|stop|kill|cut|heal NAME [ZONE]
node() {
	local op=${1:-} n=${2:-}
	[[ " ${NODES[*]} " = *" $n "* ]] || die "usage: local node start|stop|kill|cut|heal n1|n2|n3|n4 [ZONE]"
	[[ -e /run/netns/$NS_CP ]] || die "no cluster here; run: $0 up"
	lock
	case $op in
	start)
		node_launch "$n" "${3:-}"
		service_route
		node_import "$n"
		nodes_wait "$n"
		;;
	stop) halt "$n" TERM ;;
	kill) halt "$n" KILL ;;
	cut) node_link "$n" down ;;
	heal) node_link "$n" up ;;
	*) die "node start|stop|kill|cut|heal" ;;
	esac
	service_route
	step "node $op $n"
}
