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

package manifest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
)

// AuthSecret builds the Secret with the passwords of the system users.
func AuthSecret(c *v1alpha1.ValkeyCluster, data map[string][]byte) *corev1.Secret {
	return clusterSecret(c, AuthSecretName(c.GetName()), data)
}

// AuthBackup builds the second copy of the Secret with the passwords.
func AuthBackup(c *v1alpha1.ValkeyCluster, auth *corev1.Secret) *corev1.Secret {
	s := clusterSecret(c, AuthBackupName(c.GetName()), auth.Data)
	s.Annotations = auth.Annotations
	return s
}

// ACLSecret builds the Secret with the ACL file, which holds password hashes.
func ACLSecret(c *v1alpha1.ValkeyCluster, file string) *corev1.Secret {
	return clusterSecret(c, ACLSecretName(c.GetName()), map[string][]byte{KeyACLFile: []byte(file)})
}

// TLSCopy builds the Secret that pods mount in place of the user's. It is written
// only with data that was checked, and keeps its name when the user's changes.
// The previous authorities are those of certificates that some members may still
// serve.
func TLSCopy(c *v1alpha1.ValkeyCluster, data map[string][]byte, previous []byte) *corev1.Secret {
	kept := map[string][]byte{}
	for _, key := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if v, ok := data[key]; ok {
			kept[key] = v
		}
	}
	if len(previous) > 0 {
		kept[KeyPreviousCA] = previous
	}
	return clusterSecret(c, TLSSecretName(c.GetName()), kept)
}

// ConfigSecret builds the Secret with a member's valkey.conf, which holds the
// replication password.
func ConfigSecret(n *v1alpha1.ValkeyNode, conf string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: nodeMeta(n, ConfigSecretName(n.GetName())),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{KeyConf: []byte(conf)},
	}
}

func clusterSecret(c *v1alpha1.ValkeyCluster, name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: clusterMeta(c, name, ClusterLabels(c.GetName())),
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
}
