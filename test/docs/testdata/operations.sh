# A reader has a kubectl that reaches the cluster; this one is the local one's.
kubectl() { cluster/local/local exec -- kubectl "$@"; }
crossplane() { cluster/local/local exec -- crossplane "$@"; }
