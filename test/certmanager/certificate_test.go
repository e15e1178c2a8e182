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

// Package certmanager tests the example for cert-manager with cert-manager's own
// types and code. It is a module of its own because of their size.
package certmanager

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/util/pki"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crossplane-contrib/provider-valkey/internal/servingcert"
)

// The cluster of examples/valkeycluster/complete.yaml.
const (
	cluster   = "secure"
	namespace = "my-app"
)

// example reads the manifest as the API server with cert-manager's kinds does:
// unknown fields are errors.
func example(t *testing.T) (issuers map[string]*certmanagerv1.Issuer, certs map[string]*certmanagerv1.Certificate) {
	t.Helper()
	data, err := os.ReadFile("../../examples/cert-manager/certificate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := certmanagerv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	issuers, certs = map[string]*certmanagerv1.Issuer{}, map[string]*certmanagerv1.Certificate{}
	docs := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
	defer docs.Close()
	for {
		doc := make([]byte, 1<<16)
		n, err := docs.Read(doc)
		if errors.Is(err, io.EOF) {
			return issuers, certs
		}
		if err != nil {
			t.Fatal(err)
		}
		obj, _, err := decoder.Decode(doc[:n], nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch o := obj.(type) {
		case *certmanagerv1.Issuer:
			issuers[o.Name] = o
		case *certmanagerv1.Certificate:
			certs[o.Name] = o
		default:
			t.Fatalf("%T is not expected", obj)
		}
	}
}

// An issued certificate is what cert-manager puts into a Secret.
type issued struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// issue makes the certificate that a Certificate asks for as cert-manager does,
// signed by another one or by itself.
func issue(t *testing.T, crt *certmanagerv1.Certificate, by *issued) issued {
	t.Helper()
	template, err := pki.CertificateTemplateFromCertificate(crt)
	if err != nil {
		t.Fatal(err)
	}
	key, err := pki.GeneratePrivateKeyForCertificate(crt)
	if err != nil {
		t.Fatal(err)
	}
	if by == nil {
		by = &issued{cert: template, key: key}
	}
	pem, cert, err := pki.SignCertificate(template, by.cert, key.Public(), by.key)
	if err != nil {
		t.Fatal(err)
	}
	return issued{cert, key, pem}
}

func TestCertificateServesTheCluster(t *testing.T) {
	issuers, certs := example(t)
	serving, ca := certs[cluster], certs["valkey-ca"]
	if serving == nil || ca == nil {
		t.Fatalf("the example has the certificates %v", certs)
	}
	if i := issuers[serving.Spec.IssuerRef.Name]; i == nil || i.Spec.CA == nil || i.Spec.CA.SecretName != ca.Spec.SecretName {
		t.Errorf("the issuer %q does not sign with the authority", serving.Spec.IssuerRef.Name)
	}
	if i := issuers[ca.Spec.IssuerRef.Name]; i == nil || i.Spec.SelfSigned == nil {
		t.Errorf("the issuer %q does not sign the authority", ca.Spec.IssuerRef.Name)
	}
	root := issue(t, ca, nil)
	leaf := issue(t, serving, &root)
	key, err := pki.EncodePrivateKey(leaf.key, serving.Spec.PrivateKey.Encoding)
	if err != nil {
		t.Fatal(err)
	}
	got, err := servingcert.Validate(servingcert.Secret{
		Name: serving.Spec.SecretName, Namespace: serving.Namespace, Found: true,
		Data: map[string][]byte{servingcert.KeyCert: leaf.pem, servingcert.KeyKey: key, servingcert.KeyCA: root.pem},
	}, cluster, namespace, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatalf("the provider refuses the certificate: %v", err)
	}
	if until := time.Until(got.NotAfter); until < 80*24*time.Hour {
		t.Errorf("the certificate is valid for %s", until)
	}
}

// A certificate that lacks one of the usages would be refused, so that the
// example cannot lose one unnoticed.
func TestUsagesAreNeeded(t *testing.T) {
	_, certs := example(t)
	root := issue(t, certs["valkey-ca"], nil)
	for _, usage := range []certmanagerv1.KeyUsage{certmanagerv1.UsageServerAuth, certmanagerv1.UsageClientAuth} {
		t.Run(string(usage), func(t *testing.T) {
			crt := certs[cluster].DeepCopy()
			crt.Spec.Usages = slices.DeleteFunc(crt.Spec.Usages, func(u certmanagerv1.KeyUsage) bool { return u == usage })
			leaf := issue(t, crt, &root)
			key, err := pki.EncodePrivateKey(leaf.key, crt.Spec.PrivateKey.Encoding)
			if err != nil {
				t.Fatal(err)
			}
			_, err = servingcert.Validate(servingcert.Secret{Name: "s", Namespace: namespace, Found: true, Data: map[string][]byte{
				servingcert.KeyCert: leaf.pem, servingcert.KeyKey: key, servingcert.KeyCA: root.pem,
			}}, cluster, namespace, time.Now().Add(time.Minute))
			var e *servingcert.Error
			if !errors.As(err, &e) || e.Reason != servingcert.ReasonMissingKeyUse {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The provider warns from 30 days before the end: cert-manager must have renewed
// by then.
func TestRenewedBeforeTheWarning(t *testing.T) {
	_, certs := example(t)
	for name, crt := range certs {
		if crt.Spec.IsCA {
			continue
		}
		if crt.Spec.RenewBefore == nil || crt.Spec.RenewBefore.Duration <= 30*24*time.Hour {
			t.Errorf("%s is renewed %v before its end", name, crt.Spec.RenewBefore)
		}
	}
}
