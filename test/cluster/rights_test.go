//go:build cluster

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

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	shipped "github.com/crossplane-contrib/provider-valkey/cluster/install"
)

var (
	rightsMeta     = metav1.ObjectMeta{Name: providerName}
	serviceAccount = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: providerName, Namespace: corev1.NamespaceDefault}}
)

// providerUser is who the provider is to the API server. The audit policy of the
// local Kubernetes knows the name.
const providerUser = "system:serviceaccount:" + corev1.NamespaceDefault + ":" + providerName

// rights binds the role that is shipped to the provider's ServiceAccount, under a
// name of the tests.
func rights(ctx context.Context) error {
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(shipped.ClusterRole, role); err != nil {
		return err
	}
	role.ObjectMeta = rightsMeta
	if err := apply(ctx, role); err != nil {
		return fmt.Errorf("cannot install the provider's role: %w", err)
	}
	if err := client.IgnoreAlreadyExists(kube.Create(ctx, serviceAccount.DeepCopy())); err != nil {
		return fmt.Errorf("cannot make the provider's ServiceAccount: %w", err)
	}
	return apply(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: rightsMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: providerName},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: serviceAccount.Name, Namespace: serviceAccount.Namespace}},
	})
}

// kubeconfig writes a file with which the provider acts as its ServiceAccount, which
// may do no more than the role that is shipped.
func kubeconfig(ctx context.Context, dir string, c *rest.Config) (string, error) {
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(24 * 60 * 60))}}
	if err := kube.SubResource("token").Create(ctx, serviceAccount, token); err != nil {
		return "", fmt.Errorf("cannot get a token for the provider: %w", err)
	}
	path := filepath.Join(dir, "kubeconfig")
	out := clientcmdapi.NewConfig()
	out.Clusters["c"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthority: c.CAFile, CertificateAuthorityData: c.CAData}
	out.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	out.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	out.CurrentContext = "x"
	return path, clientcmd.WriteToFile(*out, path)
}

// hadAllRights returns an error if the API server refused the provider anything
// for want of a right.
func (p *process) hadAllRights() error {
	log, err := os.ReadFile(p.log)
	if err != nil {
		return err
	}
	refusal := fmt.Sprintf("forbidden: User %q", providerUser)
	for line := range strings.SplitSeq(string(log), "\n") {
		if strings.Contains(strings.ReplaceAll(line, `\"`, `"`), refusal) {
			return fmt.Errorf("the shipped role is too small: %s", line)
		}
	}
	return nil
}
