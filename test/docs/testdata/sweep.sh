# Takes away what a document may have left halfway, and nothing else.
set +e
kubectl() { cluster/local/local exec -- kubectl "$@"; }
kubectl get vkc,vkn,pods,events -A -o wide
kubectl delete --timeout 1m -n my-app caches --all
kubectl annotate -n my-app vkc,vkn --all crossplane.io/paused-
kubectl delete --timeout 1m -n my-app vkc --all
make demo-down
kubectl delete --timeout 1m namespace my-app
# A definition has to go while Crossplane runs, which holds it.
kubectl delete --timeout 1m -f examples/composition/composition.yaml -f examples/composition/definition.yaml --ignore-not-found
kubectl delete -f cluster/install/crossplane --ignore-not-found
cluster/crossplane/crossplane down
kubectl delete -f examples/quickstart/menu.yaml -f examples/catalog/valkeyrole.yaml --ignore-not-found
kubectl delete -f cluster/install --ignore-not-found
true
