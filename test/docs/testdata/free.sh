# Documents tell readers to pause and to delete every cluster that there is, and
# only one provider may run.
kubectl() { cluster/local/local exec -- kubectl "$@"; }
cluster/local/local exec -- true 2>/dev/null || cluster/local/local up
left=$(kubectl get vkc -A -o name 2>/dev/null || true)
[[ -z $left ]] || { echo "there are ValkeyClusters already: $left"; exit 1; }
left=$(kubectl get pods -A -l 'app.kubernetes.io/name in (provider-valkey, valkey)' -o name)
[[ -z $left ]] || { echo "something runs already: $left"; exit 1; }
