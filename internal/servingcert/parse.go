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
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
)

// parseChain reads tls.crt: the certificate, then the intermediates.
func parseChain(s Secret) ([]*x509.Certificate, error) {
	if block, _ := pem.Decode(s.Data[KeyCert]); block == nil {
		return nil, problem(s, ReasonMalformed, "%s is not valid PEM", KeyCert)
	}
	chain, err := certificates(s.Data[KeyCert])
	if err != nil || len(chain) == 0 {
		return nil, problem(s, ReasonMalformed, "%s is not a valid X.509 certificate", KeyCert)
	}
	return chain, nil
}

// parseAuthority reads ca.crt.
func parseAuthority(s Secret) ([]*x509.Certificate, error) {
	if block, _ := pem.Decode(s.Data[KeyCA]); block == nil {
		return nil, problem(s, ReasonMalformed, "%s is not valid PEM", KeyCA)
	}
	roots, err := certificates(s.Data[KeyCA])
	if err != nil {
		return nil, problem(s, ReasonMalformed, "%s is not a valid X.509 certificate", KeyCA)
	}
	if len(roots) == 0 {
		return nil, problem(s, ReasonMalformed, "%s contains no certificate", KeyCA)
	}
	return roots, nil
}

// certificates parses all certificates of a PEM file and passes over what else
// it holds.
func certificates(data []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			return out, nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
}

// keyMatches checks that tls.key is the private key of the certificate.
func keyMatches(s Secret, leaf *x509.Certificate) error {
	der, encrypted := privateKey(s.Data[KeyKey])
	switch {
	case encrypted:
		return problem(s, ReasonMalformed, "%s is encrypted, which a server cannot use", KeyKey)
	case der == nil:
		return problem(s, ReasonMalformed, "%s is not valid PEM", KeyKey)
	}
	// The standard library knows all formats of keys, and reports a key that it
	// cannot read like one that does not match.
	if _, err := tls.X509KeyPair(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}), pem.EncodeToMemory(der)); err != nil {
		if readable(der.Bytes) {
			return problem(s, ReasonKeyMismatch, "%s does not match %s", KeyKey, KeyCert)
		}
		return problem(s, ReasonMalformed, "%s is not a valid private key", KeyKey)
	}
	return nil
}

// privateKey finds the first private key of a PEM file.
func privateKey(data []byte) (key *pem.Block, encrypted bool) {
	for {
		var block *pem.Block
		block, data = pem.Decode(data)
		if block == nil {
			return nil, false
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return nil, true
		}
		if block.Type == "PRIVATE KEY" || strings.HasSuffix(block.Type, " PRIVATE KEY") {
			return block, false
		}
	}
}

func readable(der []byte) bool {
	var parsers = []func([]byte) (crypto.PrivateKey, error){
		func(b []byte) (crypto.PrivateKey, error) { return x509.ParsePKCS8PrivateKey(b) },
		func(b []byte) (crypto.PrivateKey, error) { return x509.ParsePKCS1PrivateKey(b) },
		func(b []byte) (crypto.PrivateKey, error) { return x509.ParseECPrivateKey(b) },
	}
	return slices.ContainsFunc(parsers, func(parse func([]byte) (crypto.PrivateKey, error)) bool {
		_, err := parse(der)
		return err == nil
	})
}
