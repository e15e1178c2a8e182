# Network, certificates and control plane. Sourced only.
# shellcheck shell=bash

NS_CP=pvk-cp # control plane and clients live in this network namespace
BRIDGE=pvk0
CP_IP=172.30.0.1
SERVER=https://$CP_IP:6443
REGISTRY=$CP_IP:5000 # where one is started, see cluster/crossplane
POD_NET=10.244.0.0/16 # node nN has 10.244.N.0/24
SERVICE_NET=10.96.0.0/16
DNS_IP=10.96.0.10
DOMAIN=cluster.local
NODES=(n1 n2 n3 n4)
# shellcheck disable=SC2034
declare -A DEFAULT_ZONE=([n1]=zone-a [n2]=zone-b [n3]=zone-c [n4]=zone-a)

node_ip() { echo "172.30.0.1${1#n}"; }
in_cp() { nsenter --net="/run/netns/$NS_CP" "$@"; }
kubectl() { in_cp "$BIN/kubectl" --kubeconfig "$KUBECONFIG_ADMIN" "$@"; }

# No namespace gets a default route or a link to the machine's own network, so
# a packet to a pod that is gone can only fail, never leave.
namespace() {
	if ! ip netns exec "$1" true 2>/dev/null; then
		rm -f "/run/netns/$1" # a name that lost its namespace
		ip netns add "$1"
	fi
	ip -n "$1" link set lo up
}

network_up() {
	namespace "$NS_CP"
	ip -n "$NS_CP" link show "$BRIDGE" >/dev/null 2>&1 || ip -n "$NS_CP" link add "$BRIDGE" type bridge
	ip -n "$NS_CP" addr replace "$CP_IP/24" dev "$BRIDGE"
	ip -n "$NS_CP" link set "$BRIDGE" up
	pod_routes "$NS_CP" ""
	cat >"$STATE/resolv.conf" <<-CONF
		nameserver $DNS_IP
		search default.svc.$DOMAIN svc.$DOMAIN $DOMAIN
		options ndots:2 timeout:2 attempts:2
	CONF
}

# pod_routes NS SELF sends each node's pod addresses to that node.
pod_routes() {
	local n
	for n in "${NODES[@]}"; do
		[[ $n = "$2" ]] || ip -n "$1" route replace "10.244.${n#n}.0/24" via "$(node_ip "$n")"
	done
}

# service_route sends clients' traffic for Services through the first node that
# runs and is not cut off: its kube-proxy does the translation.
service_route() {
	local n
	for n in "${NODES[@]}"; do
		if pid_of "$n" >/dev/null && [[ ! -e $RUN/$n.cut ]]; then
			ip -n "$NS_CP" route replace "$SERVICE_NET" via "$(node_ip "$n")"
			return 0
		fi
	done
	ip -n "$NS_CP" route del "$SERVICE_NET" 2>/dev/null || true
}

key_pair() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" "${@:2}" 2>/dev/null; }

authority() {
	[[ -s $PKI/$1.crt ]] || key_pair "$PKI/$1" -x509 -days 3650 -out "$PKI/$1.crt" -subj "/CN=pvk-$1" \
		-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign,digitalSignature
}

# certificate NAME CA SUBJECT USAGE [ALTERNATIVE-NAMES]
certificate() {
	local c=$PKI/$1
	[[ -s $c.crt ]] && return 0
	key_pair "$c" -out "$c.csr" -subj "$3"
	openssl x509 -req -in "$c.csr" -CA "$PKI/$2.crt" -CAkey "$PKI/$2.key" -CAcreateserial -days 3650 -out "$c.new" -extfile <(
		printf '%s\n' basicConstraints=critical,CA:FALSE keyUsage=critical,digitalSignature "extendedKeyUsage=$4"
		[[ -z ${5:-} ]] || echo "subjectAltName=$5"
	) 2>/dev/null
	mv "$c.new" "$c.crt"
}

kubeconfig() {
	[[ -s $2 ]] && return 0
	cat >"$2.new" <<-YAML
		apiVersion: v1
		kind: Config
		current-context: pvk
		contexts: [{name: pvk, context: {cluster: pvk, user: $1}}]
		clusters: [{name: pvk, cluster: {server: "$SERVER", certificate-authority-data: $(base64 -w0 "$PKI/ca.crt")}}]
		users: [{name: $1, user: {client-certificate-data: $(base64 -w0 "$PKI/$1.crt"), client-key-data: $(base64 -w0 "$PKI/$1.key")}}]
	YAML
	chmod 600 "$2.new"
	mv "$2.new" "$2"
}

# client NAME SUBJECT makes a certificate and the kubeconfig that uses it.
client() {
	certificate "$1" ca "$2" clientAuth
	kubeconfig "$1" "$PKI/$1.kubeconfig"
}

certificates() {
	local n
	mkdir -p "$PKI"
	chmod 700 "$PKI"
	[[ -e $PKI/.done ]] && return 0
	authority ca
	authority front-proxy-ca
	if [[ ! -s $PKI/sa.pub ]]; then
		openssl ecparam -name prime256v1 -genkey -noout -out "$PKI/sa.key"
		openssl ec -in "$PKI/sa.key" -pubout -out "$PKI/sa.pub" 2>/dev/null
	fi
	certificate apiserver ca /CN=kube-apiserver serverAuth \
		"DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.$DOMAIN,IP:10.96.0.1,IP:$CP_IP"
	certificate kubelet-client ca /O=system:masters/CN=kube-apiserver-kubelet-client clientAuth
	certificate front-proxy-client front-proxy-ca /CN=front-proxy-client clientAuth
	client admin /O=system:masters/CN=kubernetes-admin
	client controller-manager /CN=system:kube-controller-manager
	client scheduler /CN=system:kube-scheduler
	client kube-proxy /CN=system:kube-proxy
	for n in "${NODES[@]}"; do
		certificate "$n" ca "/O=system:nodes/CN=system:node:$n" serverAuth,clientAuth "DNS:$n,IP:$(node_ip "$n")"
		kubeconfig "$n" "$PKI/$n.kubeconfig"
	done
	kubeconfig admin "$KUBECONFIG_ADMIN"
	touch "$PKI/.done"
}

component() { daemon "$1" nsenter --net="/run/netns/$NS_CP" "$BIN/kube" "$@"; }

# etcd listens on the namespace's loopback. It need not survive a power cut.
etcd_up() {
	component etcd --name=pvk --data-dir="$STATE/etcd" --log-level=warn --unsafe-no-fsync \
		--listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
		--listen-peer-urls=http://127.0.0.1:2380 --initial-advertise-peer-urls=http://127.0.0.1:2380 \
		--initial-cluster=pvk=http://127.0.0.1:2380
}

# apiserver_up starts the API server again if its audit policy is another one now.
apiserver_up() {
	local policy=$HERE/manifests/audit-policy.yaml
	if ! cmp -s "$policy" "$STATE/audit-policy.yaml"; then
		halt kube-apiserver
		cp "$policy" "$STATE/audit-policy.yaml"
	fi
	component kube-apiserver --v=1 --profiling=false --etcd-servers=http://127.0.0.1:2379 \
		--bind-address="$CP_IP" --advertise-address="$CP_IP" --secure-port=6443 \
		--tls-cert-file="$PKI/apiserver.crt" --tls-private-key-file="$PKI/apiserver.key" --client-ca-file="$PKI/ca.crt" \
		--kubelet-client-certificate="$PKI/kubelet-client.crt" --kubelet-client-key="$PKI/kubelet-client.key" \
		--kubelet-certificate-authority="$PKI/ca.crt" --kubelet-preferred-address-types=InternalIP \
		--requestheader-client-ca-file="$PKI/front-proxy-ca.crt" --requestheader-allowed-names=front-proxy-client \
		--requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group \
		--requestheader-username-headers=X-Remote-User \
		--proxy-client-cert-file="$PKI/front-proxy-client.crt" --proxy-client-key-file="$PKI/front-proxy-client.key" \
		--enable-aggregator-routing=true `# reach webhooks by endpoint: no kube-proxy runs here` \
		--service-account-issuer="https://kubernetes.default.svc.$DOMAIN" \
		--service-account-key-file="$PKI/sa.pub" --service-account-signing-key-file="$PKI/sa.key" \
		--service-cluster-ip-range="$SERVICE_NET" --authorization-mode=Node,RBAC --anonymous-auth=false \
		--enable-admission-plugins=NodeRestriction --allow-privileged=true \
		--default-not-ready-toleration-seconds=30 --default-unreachable-toleration-seconds=30 \
		--audit-policy-file="$STATE/audit-policy.yaml" --audit-log-path="$LOG/audit.log" \
		--audit-log-maxsize=200 --audit-log-maxbackup=5
}

controllers_up() {
	local c=$PKI/controller-manager.kubeconfig s=$PKI/scheduler.kubeconfig fast=(--kube-api-qps=200 --kube-api-burst=400)
	component kube-controller-manager --v=1 "${fast[@]}" --bind-address=127.0.0.1 --leader-elect=false \
		--kubeconfig="$c" --authentication-kubeconfig="$c" --authorization-kubeconfig="$c" \
		--service-account-private-key-file="$PKI/sa.key" --root-ca-file="$PKI/ca.crt" --use-service-account-credentials=true \
		--cluster-signing-cert-file="$PKI/ca.crt" --cluster-signing-key-file="$PKI/ca.key" \
		--cluster-cidr="$POD_NET" --allocate-node-cidrs=false --service-cluster-ip-range="$SERVICE_NET" \
		--node-monitor-period=2s --node-monitor-grace-period=20s --node-eviction-rate=10 \
		--concurrent-gc-syncs=40 --concurrent-statefulset-syncs=20 --concurrent-namespace-syncs=20
	component kube-scheduler --v=1 "${fast[@]}" --bind-address=127.0.0.1 --leader-elect=false \
		--kubeconfig="$s" --authentication-kubeconfig="$s" --authorization-kubeconfig="$s"
}

api_ready() { kubectl get --raw /readyz >/dev/null 2>&1; }

# wait_api gives up early when the server or its store has ended.
wait_api() {
	local i
	for ((i = 0; i < 300; i++)); do
		api_ready && return 0
		pid_of etcd >/dev/null || trouble etcd
		pid_of kube-apiserver >/dev/null || trouble kube-apiserver
		sleep 0.2
	done
	trouble kube-apiserver
}

# trouble NAME shows the end of a log and gives up.
trouble() {
	tail -n 15 "$LOG/$1.log" >&2 || true
	die "$1 does not work; its log is $LOG/$1.log"
}

# dns_ready asks as a client would: through a node's kube-proxy.
dns_ready() { in_cp "$ROOTFS/busybox/bin/busybox" nslookup "kubernetes.default.svc.$DOMAIN" "$DNS_IP" >/dev/null 2>&1; }

# addons applies the manifests, unless these very ones are there.
addons() {
	local sum
	sum=$(sed "s/@COREDNS@/$COREDNS_VERSION/; s/@DNS_IP@/$DNS_IP/; s/@DOMAIN@/$DOMAIN/" "$HERE/manifests/coredns.yaml")
	[[ $sum = "$(cat "$STATE/addons.yaml" 2>/dev/null)" ]] && return 0
	kubectl apply -f - <<<"$sum" >/dev/null
	echo "$sum" >"$STATE/addons.yaml"
}

# clients_exec runs a command among the clients: in the control plane's network
# namespace, with the cluster's resolver, and with the rest as the caller has it.
clients_exec() {
	[[ ${1:-} = -- ]] && shift
	(($#)) || die "usage: local exec -- COMMAND..."
	[[ -e /run/netns/$NS_CP && -s $STATE/resolv.conf ]] || die "no cluster here; run: $0 up"
	export KUBECONFIG=$KUBECONFIG_ADMIN PATH=$BIN:$PATH VALKEY_LOCAL=$SELF VALKEY_LOCAL_WITHIN=1
	# shellcheck disable=SC2016
	exec nsenter --net="/run/netns/$NS_CP" unshare --mount --propagation slave sh -c \
		'mount --bind "$1" "$(readlink -f /etc/resolv.conf)" && shift && exec "$@"' exec "$STATE/resolv.conf" "$@"
}

print_env() {
	cat <<-ENV
		export KUBECONFIG=$KUBECONFIG_ADMIN
		export PATH=$BIN:\$PATH
		export VALKEY_LOCAL_NETNS=$NS_CP
		export VALKEY_LOCAL_CACHE=$CACHE
		export VALKEY_LOCAL_STATE=$STATE
		export VALKEY_LOCAL_AUDIT_LOG=$LOG/audit.log
		export VALKEY_LOCAL_ROOTFS=$ROOTFS
	ENV
}

up() {
	local count=3 n jobs=() p
	while (($#)); do
		case $1 in
		--nodes) count=${2:?} && shift 2 ;;
		*) die "usage: local up [--nodes N]" ;;
		esac
	done
	[[ $count =~ ^[1-4]$ ]] || die "1 to 4 nodes"
	mkdir -p "$STATE" "$LOG" "$RUN"
	lock
	host_tools
	build
	network_up
	certificates
	step "network, certificates"
	etcd_up
	apiserver_up
	# A node of an earlier run, beyond the count, stays as it is.
	for n in "${NODES[@]:0:count}"; do
		node_launch "$n"
		node_import "$n" &
		jobs+=($!)
	done
	for n in "${NODES[@]}"; do
		[[ ! -e $RUN/$n.cut ]] || node_link "$n" up
	done
	service_route
	wait_api
	step "API server"
	controllers_up
	addons
	step "controllers, add-ons"
	for p in "${jobs[@]}"; do wait "$p" || die "images are missing on a node"; done
	step "images on the nodes"
	nodes_wait "${NODES[@]:0:count}"
	step "nodes Ready"
	retry 600 dns_ready || trouble n1-kubelet
	step "cluster DNS"
	cat <<-NEXT

		$(kubectl get nodes -L topology.kubernetes.io/zone)

		Run programs among the cluster's clients:  $0 exec -- kubectl get pods -A
		Set a shell up for that:                    eval "\$($0 env)"
		Stop it, or also forget it:                 $0 down [--purge]
	NEXT
}

# lock keeps two runs from working on one cluster; it ends with the process.
lock() {
	exec 9>"$CACHE/lock"
	flock -w 600 9 || die "another run holds $CACHE/lock"
}

down() {
	local n
	[[ -z ${1:-} || $1 = --purge ]] || die "usage: local down [--purge]"
	mkdir -p "$RUN"
	lock
	for n in "${NODES[@]}"; do halt "$n" KILL; done
	for n in kube-scheduler kube-controller-manager kube-apiserver etcd; do halt "$n"; done
	for n in "${NODES[@]}"; do
		ip netns del "pvk-$n" 2>/dev/null || true
		rm -f "$RUN/$n.cut"
	done
	ip netns del "$NS_CP" 2>/dev/null || true
	cgroups_remove
	[[ -z ${1:-} ]] || rm -rf --one-file-system "$STATE"
	step "down"
}
