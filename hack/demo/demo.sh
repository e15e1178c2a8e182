#!/usr/bin/env bash
# up: from nothing to a Valkey cluster that serves. down: back again. The
# Makefile's targets demo and demo-down build what this needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=_output image=$out/provider.tar
eval "$(cluster/local/local env)"
started=$VALKEY_LOCAL_STATE/started-by-demo # marks a Kubernetes that we started
loaded=$VALKEY_LOCAL_STATE/loaded-by-demo   # the image that its nodes have

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
local_() { cluster/local/local "$@"; }
kube() { local_ exec -- kubectl "$@"; }

# load brings the image to the nodes and has a Deployment that runs another take
# it, unless that was done before.
load() {
	local sum stale=''
	sum=$(sha256sum <"$image")
	if [[ $sum != "$(cat "$loaded" 2>/dev/null)" ]]; then
		local_ load-image "$image"
		stale=$(kube -n valkey-system get deployment provider-valkey --ignore-not-found -o name)
	fi
	kube apply -f cluster/install/
	[[ -z $stale ]] || kube -n valkey-system rollout restart deployment/provider-valkey
	echo "$sum" >"$loaded"
}

# follow prints what the provider says it is doing until the cluster is as asked.
follow() {
	local state asked seen converged message last='' watcher
	exec 3< <(exec timeout 300 "$PWD/cluster/local/local" exec -- kubectl -n demo get valkeycluster hello --watch -o \
		'jsonpath={.status.state}|{.metadata.generation}|{.status.observedGeneration}|{.status.conditions[?(@.type=="Converged")].status}|{.status.conditions[?(@.type=="Converged")].message}{"\n"}')
	watcher=$!
	while IFS='|' read -r -u 3 state asked seen converged message; do
		[[ "$state: $message" = "$last" ]] || printf '%4d s  %s: %s\n' "$SECONDS" "$state" "$message"
		last="$state: $message"
		if [[ $state = Active && $converged = True && $asked = "$seen" ]]; then
			kill "$watcher" 2>/dev/null || true
			return 0
		fi
	done
	echo "the cluster did not get there" >&2
	kube -n demo describe valkeycluster hello >&2
	kube -n valkey-system logs deployment/provider-valkey --tail 30 >&2
	return 1
}

up() {
	say "Kubernetes of three nodes in three zones"
	local_ exec -- true 2>/dev/null || touch="$started"
	local_ up
	[[ -z ${touch:-} ]] || touch "$touch"

	say "The provider: its definitions, rights and Deployment"
	kube apply --server-side --force-conflicts -f package/crds/
	load
	kube -n valkey-system rollout status deployment/provider-valkey --timeout 120s

	say "A catalog, and a Valkey cluster with 3 shards and a replica each"
	kube apply -f hack/demo/demo.yaml
	follow
	kube -n demo wait valkeycluster hello --for 'jsonpath={.status.state}=Active' --timeout 10s

	say "A client that knows only the name of the cluster"
	go build -o $out/demo-client ./hack/demo/client
	local_ exec -- $out/demo-client

	say "What runs now"
	kube -n demo get valkeyclusters,valkeynodes
	kube -n demo get pods -o wide -L valkey.gomomento.com/shard-index
	next
}

next() {
	say "It took $SECONDS s. Play on:"
	cat <<-'NEXT'
		k() { cluster/local/local exec -- kubectl -n demo "$@"; }
		# What the provider does and why, in another shell:
		k get vkc hello --watch -o 'custom-columns=STATE:.status.state,DOING:.status.conditions[?(@.type=="Converged")].message'

		k patch vkc hello --type merge -p '{"spec":{"shards":4}}'       # scale out: slots move online
		k patch vkc hello --type merge -p '{"spec":{"replicasPerShard":2}}'
		k patch valkeyconfig demo --type merge -p '{"spec":{"imageRef":"demo-9-1"}}'   # roll to another version
		k delete pod -l valkey.gomomento.com/shard-index=0 --wait=false # lose a shard's pods
		k delete valkeynode NAME                                        # replace one member, drained first
		cluster/local/local node kill n2                                # lose a machine; "node start n2" returns it
		k get events --sort-by .lastTimestamp                           # what happened
		cluster/local/local exec -- _output/demo-client                 # write and read again
		cluster/local/local exec -- valkey-cli -c -h hello.demo.svc.cluster.local

		Again from the top: make demo.  Stop: make demo-down.
	NEXT
}

down() {
	local_ exec -- true 2>/dev/null || { echo "no Kubernetes runs here" && return 0; }
	say "The Valkey cluster and its catalog"
	kube delete --ignore-not-found --timeout 120s namespace demo
	kube delete --ignore-not-found -f hack/demo/demo.yaml
	say "The provider"
	kube delete --ignore-not-found --timeout 60s -f cluster/install/
	if [[ -e $started ]]; then
		say "Kubernetes"
		local_ down
		rm -f "$started"
	else
		echo "Kubernetes was there before the demo and stays; make cluster-down stops it."
	fi
}

case ${1:-} in
up | down) "$1" ;;
*) echo "usage: demo.sh up|down" >&2 && exit 2 ;;
esac
