// Copyright 2026 The provider-valkey Authors.
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

package settings

import "fmt"

// Places in the container that settings refer to.
const (
	// DataDir holds the node's state.
	DataDir = "/var/lib/valkey"

	// ACLFile is the ACL file that the server loads.
	ACLFile = "/etc/valkey/acl/users.acl"

	// TLSDir holds the serving certificate.
	TLSDir = "/etc/valkey/tls"
)

// Ports of a node.
const (
	Port    = 6379
	BusPort = 16379
)

// ReplicationUser is the user as which a replica logs in to its primary.
const ReplicationUser = "_momento_repl"

// keyPrimaryAuth is forced like the others, but its value is a secret that must
// not appear in an object that users may read.
const keyPrimaryAuth = "primaryauth"

// keyAnnounceHostname differs for each member of a cluster.
const keyAnnounceHostname = "cluster-announce-hostname"

// Forced returns the settings that hold whatever a user writes. A cluster in
// which one of them had another value would not form, would not be reachable or
// could not be operated. It leaves out the replication password.
func Forced(in Input) map[string]string {
	f := map[string]string{
		"cluster-enabled":      "yes",
		"cluster-node-timeout": "5000",
		"cluster-config-file":  DataDir + "/nodes.conf",
		// A replica that moved to another shard on its own would work against
		// the plan of which member serves which shard.
		"cluster-allow-replica-migration": "no",
		"dir":                             DataDir,
		"port":                            fmt.Sprint(Port),
		// All interfaces of both families; the leading minus makes a missing
		// IPv6 stack no error.
		"bind":           "* -::*",
		"protected-mode": "no",
		"aclfile":        ACLFile,
		"primaryuser":    ReplicationUser,
	}
	if !in.TLS {
		return f
	}
	f["port"] = "0"
	f["tls-port"] = fmt.Sprint(Port)
	f["tls-cluster"] = "yes"
	f["tls-replication"] = "yes"
	f["tls-cert-file"] = TLSDir + "/tls.crt"
	f["tls-key-file"] = TLSDir + "/tls.key"
	f["tls-ca-cert-file"] = TLSDir + "/ca.crt"
	f["tls-auth-clients"] = "no"
	f[keyAnnounceHostname] = fmt.Sprintf("%s.%s.%s.svc.cluster.local", in.Node, in.Cluster, in.Namespace)
	f["cluster-preferred-endpoint-type"] = "hostname"
	return f
}

// PerNode reports whether a forced setting has another value on each member, so
// that a difference does not mean that a member is outdated.
func PerNode(key string) bool { return key == keyAnnounceHostname }
