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
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/crossplane-contrib/provider-valkey/internal/servingcert"
)

// An authority issues certificates.
type authority struct {
	*testing.T

	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{T: t}
	tmpl := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	a.cert, a.key, a.pem = a.sign(tmpl, nil)
	return a
}

// sign makes a key and signs its certificate, by itself without a parent.
func (a *authority) sign(tmpl *x509.Certificate, parent *authority) (*x509.Certificate, crypto.Signer, []byte) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	if tmpl.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		a.Fatal(err)
	}
	issuer, signer := tmpl, crypto.Signer(key)
	if parent != nil {
		issuer, signer = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, issuer, key.Public(), signer)
	if err != nil {
		a.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// A leaf is a certificate with what a Secret holds of it.
type leaf struct {
	cert *x509.Certificate
	data map[string][]byte
}

// issue makes a certificate for the cluster "a" of a namespace, which an edit may
// spoil.
func (a *authority) issue(namespace string, edits ...func(*x509.Certificate)) leaf {
	a.Helper()
	tmpl := &x509.Certificate{
		Subject: pkix.Name{CommonName: "leaf"}, KeyUsage: x509.KeyUsageDigitalSignature,
		NotBefore: time.Now().Add(-time.Hour).Truncate(time.Second), NotAfter: time.Now().AddDate(0, 3, 0).Truncate(time.Second),
		DNSNames:    servingcert.Names("a", namespace),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, e := range edits {
		e(tmpl)
	}
	cert, key, crt := a.sign(tmpl, a)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	return leaf{cert: cert, data: map[string][]byte{
		corev1.TLSCertKey:       crt,
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		servingcert.KeyCA:       a.pem,
	}}
}

// with returns the data of a leaf's Secret with a key replaced, or removed by
// nil.
func (l leaf) with(key string, value []byte) map[string][]byte {
	out := map[string][]byte{}
	maps.Copy(out, l.data)
	if out[key] = value; value == nil {
		delete(out, key)
	}
	return out
}
