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

// Package servingcert judges whether a TLS Secret can serve a cluster. It is
// pure: the caller hands in the Secret and the time.
//
// A server that cannot load its certificate does not start, and one whose
// certificate its peers do not trust never joins, without a word in any log. So
// everything that can be seen beforehand is said here.
package servingcert

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Keys of a TLS Secret.
const (
	KeyCert = "tls.crt"
	KeyKey  = "tls.key"
	KeyCA   = "ca.crt"
)

// Reasons of an Error.
const (
	ReasonNotFound       = "TLSSecretNotFound"
	ReasonIncomplete     = "TLSSecretIncomplete"
	ReasonMalformed      = "TLSSecretMalformed"
	ReasonMissingSAN     = "TLSCertMissingSAN"
	ReasonKeyMismatch    = "TLSKeyMismatch"
	ReasonUntrusted      = "TLSCertUntrusted"
	ReasonNotYetValid    = "TLSCertNotYetValid"
	ReasonExpired        = "TLSCertExpired"
	ReasonMissingKeyUse  = "TLSCertMissingKeyUsage"
	ReasonUntrustedUsage = "TLSCertUntrustedUsage"
)

// A Secret is a TLS Secret as it was found, or not.
type Secret struct {
	Name, Namespace string

	// Found is whether the Secret exists.
	Found bool

	Data map[string][]byte
}

// A Cert tells what the controller needs to know of a good certificate.
type Cert struct {
	// NotAfter is when the first certificate of the chain that a server presents
	// expires.
	NotAfter time.Time

	// Fingerprint changes whenever certificate, key or authority does.
	Fingerprint string

	// Serial is the serial number of the certificate in hexadecimal.
	Serial string
}

// An Error says why a Secret cannot be used.
type Error struct {
	// Reason is one word for conditions and events.
	Reason string

	// Message is the sentence that users read.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Names returns the DNS names that a cluster's certificate must list: that of its
// Service and a wildcard for its members.
func Names(cluster, namespace string) []string {
	svc := fmt.Sprintf("%s.%s.svc.cluster.local", cluster, namespace)
	return []string{svc, "*." + svc}
}

// Validate checks a Secret for a cluster. Its error, if any, is an *Error with
// the first problem found.
func Validate(s Secret, cluster, namespace string, now time.Time) (Cert, error) {
	if err := present(s); err != nil {
		return Cert{}, err
	}
	chain, err := parseChain(s)
	if err != nil {
		return Cert{}, err
	}
	leaf := chain[0]
	if err := listsNames(s, leaf, Names(cluster, namespace)); err != nil {
		return Cert{}, err
	}
	if err := keyMatches(s, leaf); err != nil {
		return Cert{}, err
	}
	authority, err := parseAuthority(s)
	if err != nil {
		return Cert{}, err
	}
	for _, check := range []func() error{
		func() error { return trusted(s, chain, authority, now) },
		func() error { return inTime(s, leaf, now) },
		func() error { return usable(s, leaf) },
		func() error { return usageTrusted(s, chain, authority, now) },
	} {
		if err := check(); err != nil {
			return Cert{}, err
		}
	}
	return Cert{NotAfter: earliest(chain), Fingerprint: Fingerprint(s.Data), Serial: leaf.SerialNumber.Text(16)}, nil
}

// Fingerprint returns a digest of the three keys of a TLS Secret.
func Fingerprint(data map[string][]byte) string {
	h := sha256.New()
	for _, key := range []string{KeyCert, KeyKey, KeyCA} {
		// The length keeps bytes from wandering from one key to the next unseen.
		_ = binary.Write(h, binary.BigEndian, uint64(len(data[key])))
		h.Write(data[key])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// problem makes an Error whose message begins with the Secret's name.
func problem(s Secret, reason, format string, args ...any) error {
	return &Error{Reason: reason, Message: fmt.Sprintf("TLS Secret %q: ", s.Name) + fmt.Sprintf(format, args...)}
}

func present(s Secret) error {
	if !s.Found {
		return &Error{Reason: ReasonNotFound, Message: fmt.Sprintf("TLS Secret %q not found in namespace %q", s.Name, s.Namespace)}
	}
	if len(s.Data) == 0 {
		return &Error{Reason: ReasonIncomplete, Message: fmt.Sprintf("TLS Secret %q has no data", s.Name)}
	}
	for _, key := range []string{KeyCert, KeyKey, KeyCA} {
		if len(s.Data[key]) == 0 {
			return &Error{Reason: ReasonIncomplete, Message: fmt.Sprintf("TLS Secret %q missing required key %q", s.Name, key)}
		}
	}
	return nil
}

func listsNames(s Secret, leaf *x509.Certificate, names []string) error {
	for _, name := range names {
		same := func(san string) bool { return strings.EqualFold(san, name) }
		if !slices.ContainsFunc(leaf.DNSNames, same) {
			return &Error{Reason: ReasonMissingSAN, Message: fmt.Sprintf("TLS cert in Secret %q missing SAN %q", s.Name, name)}
		}
	}
	return nil
}

func inTime(s Secret, leaf *x509.Certificate, now time.Time) error {
	if now.Before(leaf.NotBefore) {
		return problem(s, ReasonNotYetValid, "%s is not valid before %s", KeyCert, date(leaf.NotBefore))
	}
	if now.After(leaf.NotAfter) {
		return problem(s, ReasonExpired, "%s expired at %s", KeyCert, date(leaf.NotAfter))
	}
	return nil
}

func date(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func earliest(chain []*x509.Certificate) time.Time {
	first := slices.MinFunc(chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	return first.NotAfter
}
