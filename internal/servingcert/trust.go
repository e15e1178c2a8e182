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

package servingcert

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"time"
)

// trusted checks that the chain leads to a root in ca.crt. It looks at the
// certificate within its own time, since its dates have messages of their own.
//
// Members judge each other with OpenSSL, which trusts nothing but what ends in a
// self-signed certificate.
func trusted(s Secret, chain, authority []*x509.Certificate, now time.Time) error {
	if !slices.ContainsFunc(authority, selfSigned) {
		return problem(s, ReasonUntrusted, "%s contains no self-signed root, without which members do not trust each other", KeyCA)
	}
	err := verify(chain, authority, now, x509.ExtKeyUsageAny)
	if err == nil {
		return nil
	}
	// The standard library's words would tell the time of the check, and so be
	// new at every check.
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return problem(s, ReasonUntrusted, "%s does not verify against %s: an authority is valid only from %s to %s",
			KeyCert, KeyCA, date(invalid.Cert.NotBefore), date(invalid.Cert.NotAfter))
	}
	return problem(s, ReasonUntrusted, "%s does not verify against %s: %v", KeyCert, KeyCA, err)
}

// verify builds a path from the certificate to a root. Intermediates may be in
// either file.
func verify(chain, authority []*x509.Certificate, now time.Time, usage x509.ExtKeyUsage) error {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range chain[1:] {
		intermediates.AddCert(c)
	}
	for _, c := range authority {
		if selfSigned(c) {
			roots.AddCert(c)
			continue
		}
		intermediates.AddCert(c)
	}
	leaf := chain[0]
	_, err := leaf.Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   within(leaf, now),
		KeyUsages:     []x509.ExtKeyUsage{usage},
	})
	return err
}

// within returns the time of the certificate's validity that is closest to now.
func within(leaf *x509.Certificate, now time.Time) time.Time {
	switch {
	case now.Before(leaf.NotBefore):
		return leaf.NotBefore
	case now.After(leaf.NotAfter):
		return leaf.NotAfter
	}
	return now
}

// VerifyMember checks what a running member presents: that it leads to one of
// the roots and is for the name. Dates do not matter. A member that serves a
// certificate which has expired must be reachable to be given the next one, and
// it still proves to have the key.
func VerifyMember(presented []*x509.Certificate, roots *x509.CertPool, name string, now time.Time) error {
	if len(presented) == 0 {
		return errors.New("the member presents no certificate")
	}
	leaf := presented[0]
	intermediates := x509.NewCertPool()
	for _, c := range presented[1:] {
		intermediates.AddCert(c)
	}
	o := x509.VerifyOptions{DNSName: name, Roots: roots, Intermediates: intermediates, CurrentTime: within(leaf, now)}
	_, err := leaf.Verify(o)
	if err != nil {
		// The authority itself may have expired since it signed.
		o.CurrentTime = leaf.NotBefore
		if _, e := leaf.Verify(o); e == nil {
			return nil
		}
	}
	return err
}

// selfSigned goes by names. The signature of a root means nothing, and old ones
// have a kind that the standard library refuses.
func selfSigned(c *x509.Certificate) bool { return bytes.Equal(c.RawSubject, c.RawIssuer) }

// usages are both needed: the members of a cluster are clients of each other on
// the cluster bus, which is always mutual TLS.
var usages = []struct {
	usage x509.ExtKeyUsage
	name  string
}{
	{x509.ExtKeyUsageServerAuth, "server auth"},
	{x509.ExtKeyUsageClientAuth, "client auth"},
}

// usable checks the extended key usages. A certificate without any may be used
// for everything. Any usage does not count: OpenSSL does not accept it.
func usable(s Secret, leaf *x509.Certificate) error {
	if len(leaf.ExtKeyUsage) == 0 && len(leaf.UnknownExtKeyUsage) == 0 {
		return nil
	}
	for _, use := range usages {
		if !slices.Contains(leaf.ExtKeyUsage, use.usage) {
			return problem(s, ReasonMissingKeyUse, "%s lacks the extended key usage %s, without which members cannot join each other", KeyCert, use.name)
		}
	}
	return nil
}

// usageTrusted checks that no authority on the way forbids a use.
func usageTrusted(s Secret, chain, authority []*x509.Certificate, now time.Time) error {
	for _, use := range usages {
		if err := verify(chain, authority, now, use.usage); err != nil {
			return problem(s, ReasonUntrustedUsage, "an authority of %s does not permit the extended key usage %s", KeyCert, use.name)
		}
	}
	return nil
}

// Without returns the certificates of PEM files that another one does not have,
// each once.
func Without(other []byte, files ...[]byte) []byte {
	known := map[string]bool{}
	each := func(data []byte, do func(*pem.Block)) {
		for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
			do(block)
		}
	}
	each(other, func(b *pem.Block) { known[string(b.Bytes)] = true })
	var out []byte
	for _, f := range files {
		each(f, func(b *pem.Block) {
			if !known[string(b.Bytes)] {
				known[string(b.Bytes)] = true
				out = append(out, pem.EncodeToMemory(&pem.Block{Type: b.Type, Bytes: b.Bytes})...)
			}
		})
	}
	return out
}
