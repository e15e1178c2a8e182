# What the documents leave to their reader.
kubectl() { cluster/local/local exec -- kubectl "$@"; }
kubectl delete vkc -A --all --timeout 2m
kubectl delete namespace my-app --timeout 2m
kubectl delete -f cluster/install
kubectl delete -f examples/quickstart/menu.yaml
