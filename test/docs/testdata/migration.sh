# The operator is not here. A cluster that this provider made and left, with data
# in it and nobody to care for it, stands for one of the operator's.
kubectl() { cluster/local/local exec -- kubectl "$@"; }
cluster/crossplane/crossplane down
make image
go build -o _output/demo-client ./hack/demo/client
cluster/local/local load-image _output/provider.tar
kubectl apply --server-side --force-conflicts -f package/crds
kubectl apply -f cluster/install -f examples/quickstart/menu.yaml
kubectl -n valkey-system rollout status deployment/provider-valkey --timeout 2m
kubectl create namespace my-app
kubectl apply -f - <<YAML
apiVersion: valkey.gomomento.com/v1alpha1
kind: ValkeyCluster
metadata: {name: my-cluster, namespace: my-app}
spec: {configRef: standard, shards: 1, replicasPerShard: 1}
YAML
kubectl -n my-app wait vkc my-cluster --for condition=Converged --timeout 2m
cluster/local/local exec -- _output/demo-client -address my-cluster.my-app.svc.cluster.local:6379
kubectl delete -f cluster/install --wait
