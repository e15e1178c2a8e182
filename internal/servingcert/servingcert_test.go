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
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	now    = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	before = now.Add(-24 * time.Hour)
	after  = now.Add(24 * time.Hour)
	both   = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
)

// An issuer is a certificate with its key.
type issuer struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func (i issuer) pem() []byte { return certPEM(i.cert.Raw) }

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(t *testing.T, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue signs a certificate; without a parent it signs itself.
func issue(t *testing.T, parent *issuer, key crypto.Signer, edit func(*x509.Certificate)) issuer {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(0xbeef),
		Subject:      pkix.Name{CommonName: "leaf"},
		NotBefore:    before,
		NotAfter:     after,
		DNSNames:     Names("c", "ns"),
		ExtKeyUsage:  both,
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
	if edit != nil {
		edit(c)
	}
	signer := issuer{cert: c, key: key}
	if parent != nil {
		signer = *parent
	}
	der, err := x509.CreateCertificate(rand.Reader, c, signer.cert, key.Public(), signer.key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return issuer{cert: parsed, key: key}
}

// authority makes an issuer of certificates.
func authority(t *testing.T, parent *issuer, name string, edit func(*x509.Certificate)) issuer {
	t.Helper()
	return issue(t, parent, newKey(t), func(c *x509.Certificate) {
		c.Subject = pkix.Name{CommonName: name}
		c.DNSNames, c.ExtKeyUsage = nil, nil
		c.IsCA, c.BasicConstraintsValid = true, true
		c.KeyUsage = x509.KeyUsageCertSign
		c.NotBefore, c.NotAfter = before.AddDate(-1, 0, 0), after.AddDate(1, 0, 0)
		if edit != nil {
			edit(c)
		}
	})
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestValidate(t *testing.T) {
	root := authority(t, nil, "root", nil)
	other := authority(t, nil, "other", nil)
	inter := authority(t, &root, "intermediate", nil)
	key := newKey(t)
	leaf := issue(t, &root, key, nil)
	good := map[string][]byte{KeyCert: leaf.pem(), KeyKey: keyPEM(t, key), KeyCA: root.pem()}
	// with replaces keys of the good Secret.
	with := func(pairs map[string][]byte) map[string][]byte {
		out := maps.Clone(good)
		maps.Copy(out, pairs)
		return out
	}
	crt := func(i issuer) map[string][]byte { return with(map[string][]byte{KeyCert: i.pem()}) }
	edited := func(edit func(*x509.Certificate)) map[string][]byte { return crt(issue(t, &root, key, edit)) }

	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecDER, err := x509.MarshalECPrivateKey(key.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	ec := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: ecDER})
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey)})
	parameters := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7}})
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})
	legacy := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"}, Bytes: []byte("x")})
	serverOnly := authority(t, &root, "server only", func(c *x509.Certificate) { c.ExtKeyUsage = both[:1] })
	expiredRoot := authority(t, nil, "expired", func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Hour) })

	cases := map[string]struct {
		reason string
		data   map[string][]byte
		want   string // message, or "" if good
		why    string
	}{
		"Good":          {"A plain certificate with its root.", good, "", ""},
		"NoData":        {"An empty Secret.", map[string][]byte{}, `TLS Secret "s" has no data`, ReasonIncomplete},
		"NoCert":        {"Keys are looked for in their order.", map[string][]byte{"x": nil}, `TLS Secret "s" missing required key "tls.crt"`, ReasonIncomplete},
		"NoKey":         {"The key is needed.", map[string][]byte{KeyCert: good[KeyCert]}, `TLS Secret "s" missing required key "tls.key"`, ReasonIncomplete},
		"NoCA":          {"So is the authority.", map[string][]byte{KeyCert: good[KeyCert], KeyKey: good[KeyKey]}, `TLS Secret "s" missing required key "ca.crt"`, ReasonIncomplete},
		"EmptyCA":       {"An empty value is as good as none.", with(map[string][]byte{KeyCA: {}}), `TLS Secret "s" missing required key "ca.crt"`, ReasonIncomplete},
		"CertNotPEM":    {"Text is no PEM.", with(map[string][]byte{KeyCert: []byte("hello")}), `TLS Secret "s": tls.crt is not valid PEM`, ReasonMalformed},
		"CertDER":       {"Nor is DER.", with(map[string][]byte{KeyCert: leaf.cert.Raw}), `TLS Secret "s": tls.crt is not valid PEM`, ReasonMalformed},
		"CertTruncated": {"Nor is half a file.", with(map[string][]byte{KeyCert: leaf.pem()[:100]}), `TLS Secret "s": tls.crt is not valid PEM`, ReasonMalformed},
		"CertGarbage":   {"PEM of something else.", with(map[string][]byte{KeyCert: certPEM([]byte("hello"))}), `TLS Secret "s": tls.crt is not a valid X.509 certificate`, ReasonMalformed},
		"CertIsKey":     {"Files that were mixed up.", with(map[string][]byte{KeyCert: good[KeyKey]}), `TLS Secret "s": tls.crt is not a valid X.509 certificate`, ReasonMalformed},
		"ChainGarbage":  {"A bad intermediate.", with(map[string][]byte{KeyCert: join(leaf.pem(), certPEM([]byte("x")))}), `TLS Secret "s": tls.crt is not a valid X.509 certificate`, ReasonMalformed},
		"NoServiceSAN":  {"The Service's name is looked for first.", edited(func(c *x509.Certificate) { c.DNSNames = []string{"x"} }), `TLS cert in Secret "s" missing SAN "c.ns.svc.cluster.local"`, ReasonMissingSAN},
		"NoWildcardSAN": {"Then that of the members.", edited(func(c *x509.Certificate) { c.DNSNames = Names("c", "ns")[:1] }), `TLS cert in Secret "s" missing SAN "*.c.ns.svc.cluster.local"`, ReasonMissingSAN},
		"OtherCluster":  {"Another cluster's certificate.", edited(func(c *x509.Certificate) { c.DNSNames = Names("d", "ns") }), `TLS cert in Secret "s" missing SAN "c.ns.svc.cluster.local"`, ReasonMissingSAN},
		"SANCase": {"DNS names have no case.", edited(func(c *x509.Certificate) {
			c.DNSNames = []string{"C.ns.SVC.cluster.local", "*.c.NS.svc.cluster.local", "more"}
		}), "", ""},
		"KeyNotPEM":    {"The key is read too.", with(map[string][]byte{KeyKey: []byte("x")}), `TLS Secret "s": tls.key is not valid PEM`, ReasonMalformed},
		"KeyIsCert":    {"Another way to mix files up.", with(map[string][]byte{KeyKey: good[KeyCert]}), `TLS Secret "s": tls.key is not valid PEM`, ReasonMalformed},
		"KeyGarbage":   {"A key in name only.", with(map[string][]byte{KeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})}), `TLS Secret "s": tls.key is not a valid private key`, ReasonMalformed},
		"KeyEncrypted": {"A server cannot ask for a passphrase.", with(map[string][]byte{KeyKey: encrypted}), `TLS Secret "s": tls.key is encrypted, which a server cannot use`, ReasonMalformed},
		"KeyLegacy":    {"Nor for one in the old format.", with(map[string][]byte{KeyKey: legacy}), `TLS Secret "s": tls.key is encrypted, which a server cannot use`, ReasonMalformed},
		"KeyOther":     {"The key of another certificate.", with(map[string][]byte{KeyKey: keyPEM(t, newKey(t))}), `TLS Secret "s": tls.key does not match tls.crt`, ReasonKeyMismatch},
		"KeyOtherKind": {"The key of another kind.", with(map[string][]byte{KeyKey: pkcs1}), `TLS Secret "s": tls.key does not match tls.crt`, ReasonKeyMismatch},
		"KeyEC":        {"The format that openssl ecparam writes.", with(map[string][]byte{KeyKey: join(parameters, ec)}), "", ""},
		"KeyRSA":       {"The old format of RSA.", with(map[string][]byte{KeyCert: issue(t, &root, rsaKey, nil).pem(), KeyKey: pkcs1}), "", ""},
		"KeyEd25519":   {"A modern key.", with(map[string][]byte{KeyCert: issue(t, &root, edKey, nil).pem(), KeyKey: keyPEM(t, edKey)}), "", ""},
		"CANotPEM":     {"The authority is read too.", with(map[string][]byte{KeyCA: []byte("x")}), `TLS Secret "s": ca.crt is not valid PEM`, ReasonMalformed},
		"CAIsKey":      {"It holds certificates.", with(map[string][]byte{KeyCA: good[KeyKey]}), `TLS Secret "s": ca.crt contains no certificate`, ReasonMalformed},
		"CAGarbage":    {"Valid ones.", with(map[string][]byte{KeyCA: certPEM([]byte("x"))}), `TLS Secret "s": ca.crt is not a valid X.509 certificate`, ReasonMalformed},
		"CAOther":      {"The wrong authority.", with(map[string][]byte{KeyCA: other.pem()}), `TLS Secret "s": tls.crt does not verify against ca.crt: x509: certificate signed by unknown authority`, ReasonUntrusted},
		"CABundle":     {"The right one among others.", with(map[string][]byte{KeyCA: join(other.pem(), root.pem())}), "", ""},
		"SelfSigned": {"A certificate that is its own authority.", func() map[string][]byte {
			s := issue(t, nil, key, nil)
			return with(map[string][]byte{KeyCert: s.pem(), KeyCA: s.pem()})
		}(), "", ""},
		"Intermediate":   {"Intermediates follow the certificate.", with(map[string][]byte{KeyCert: join(issue(t, &inter, key, nil).pem(), inter.pem())}), "", ""},
		"IntermediateCA": {"Or they are with the root.", with(map[string][]byte{KeyCert: issue(t, &inter, key, nil).pem(), KeyCA: join(inter.pem(), root.pem())}), "", ""},
		"NoIntermediate": {"But not left out.", with(map[string][]byte{KeyCert: issue(t, &inter, key, nil).pem()}), `TLS Secret "s": tls.crt does not verify against ca.crt: x509: certificate signed by unknown authority`, ReasonUntrusted},
		"NoRoot":         {"Members do not trust an intermediate alone.", with(map[string][]byte{KeyCert: issue(t, &inter, key, nil).pem(), KeyCA: inter.pem()}), `TLS Secret "s": ca.crt contains no self-signed root, without which members do not trust each other`, ReasonUntrusted},
		"RootExpired":    {"The message of an expired authority does not change with the time of the check.", with(map[string][]byte{KeyCert: issue(t, &expiredRoot, key, nil).pem(), KeyCA: expiredRoot.pem()}), `TLS Secret "s": tls.crt does not verify against ca.crt: an authority is valid only from 2025-05-31T12:00:00Z to 2026-06-01T11:00:00Z`, ReasonUntrusted},
		"NotYet":         {"A certificate of tomorrow.", edited(func(c *x509.Certificate) { c.NotBefore = now.Add(time.Hour) }), `TLS Secret "s": tls.crt is not valid before 2026-06-01T13:00:00Z`, ReasonNotYetValid},
		"Expired":        {"A certificate of yesterday.", edited(func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Hour) }), `TLS Secret "s": tls.crt expired at 2026-06-01T11:00:00Z`, ReasonExpired},
		"ServerOnly":     {"Members are clients of each other.", edited(func(c *x509.Certificate) { c.ExtKeyUsage = both[:1] }), `TLS Secret "s": tls.crt lacks the extended key usage client auth, without which members cannot join each other`, ReasonMissingKeyUse},
		"ClientOnly":     {"And servers.", edited(func(c *x509.Certificate) { c.ExtKeyUsage = both[1:] }), `TLS Secret "s": tls.crt lacks the extended key usage server auth, without which members cannot join each other`, ReasonMissingKeyUse},
		"AnyUsage":       {"OpenSSL takes any usage for none.", edited(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} }), `TLS Secret "s": tls.crt lacks the extended key usage server auth, without which members cannot join each other`, ReasonMissingKeyUse},
		"NoUsage":        {"Without usages there is no restriction.", edited(func(c *x509.Certificate) { c.ExtKeyUsage = nil }), "", ""},
		"AuthorityUsage": {"An authority can restrict its certificates.", with(map[string][]byte{KeyCert: join(issue(t, &serverOnly, key, nil).pem(), serverOnly.pem())}), `TLS Secret "s": an authority of tls.crt does not permit the extended key usage client auth`, ReasonUntrustedUsage},
		"Surroundings":   {"Text around PEM is common.", with(map[string][]byte{KeyCert: join([]byte("subject=leaf\n"), leaf.pem(), []byte("\n\n")), KeyCA: join([]byte("# root\r\n"), root.pem())}), "", ""},
		"KeyAndCert":     {"A key in the file of the certificate is passed over.", with(map[string][]byte{KeyCert: join(good[KeyKey], leaf.pem())}), "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Validate(Secret{Name: "s", Namespace: "ns", Found: true, Data: tc.data}, "c", "ns", now)
			msg, why := "", ""
			if err != nil {
				var e *Error
				if !errors.As(err, &e) {
					t.Fatalf("%s: error %v has the wrong type", tc.reason, err)
				}
				msg, why = e.Message, e.Reason
			}
			if !strings.HasPrefix(msg, tc.want) || (tc.want == "") != (msg == "") {
				t.Errorf("%s: got message\n%s\nwant\n%s", tc.reason, msg, tc.want)
			}
			if diff := cmp.Diff(tc.why, why); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if err == nil && (got.Serial != "beef" || !got.NotAfter.Equal(after) || got.Fingerprint != Fingerprint(tc.data)) {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
		})
	}
}

func TestValidateNotFound(t *testing.T) {
	_, err := Validate(Secret{Name: "s", Namespace: "ns"}, "c", "ns", now)
	want := &Error{Reason: ReasonNotFound, Message: `TLS Secret "s" not found in namespace "ns"`}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNotAfter checks that an intermediate that expires first is what is told.
func TestNotAfter(t *testing.T) {
	root := authority(t, nil, "root", nil)
	soon := now.Add(time.Hour)
	inter := authority(t, &root, "intermediate", func(c *x509.Certificate) { c.NotAfter = soon })
	key := newKey(t)
	data := map[string][]byte{KeyCert: join(issue(t, &inter, key, nil).pem(), inter.pem()), KeyKey: keyPEM(t, key), KeyCA: root.pem()}
	got, err := Validate(Secret{Name: "s", Namespace: "ns", Found: true, Data: data}, "c", "ns", now)
	if err != nil || !got.NotAfter.Equal(soon) {
		t.Errorf("got %v and error %v", got, err)
	}
}

func TestFingerprint(t *testing.T) {
	a := map[string][]byte{KeyCert: []byte("ab"), KeyKey: []byte("c"), KeyCA: []byte("d")}
	base := Fingerprint(a)
	for _, b := range []map[string][]byte{
		{KeyCert: []byte("a"), KeyKey: []byte("bc"), KeyCA: []byte("d")},
		{KeyCert: []byte("ab"), KeyKey: []byte("c"), KeyCA: []byte("e")},
		{KeyCert: []byte("ab"), KeyKey: []byte("x"), KeyCA: []byte("d")},
		{},
	} {
		if Fingerprint(b) == base {
			t.Errorf("%v has the fingerprint of %v", b, a)
		}
	}
	a["unrelated"] = []byte("x")
	if Fingerprint(a) != base {
		t.Errorf("a key that nobody uses changes the fingerprint")
	}
}

// FuzzValidate checks that no content of a Secret makes the check panic or fail
// in another way than by an Error that names the Secret.
func FuzzValidate(f *testing.F) {
	const crt = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	f.Add([]byte(""), []byte(""), []byte(""))
	f.Add([]byte(crt), []byte(crt), []byte(crt))
	f.Add([]byte(crt+crt), []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), []byte("-----BEGIN CERTIFICATE-----"))
	f.Add([]byte("-----BEGIN X-----\na: b\n\nAAAA\n-----END X-----"), []byte("\x00"), []byte("\xff"))
	f.Fuzz(func(t *testing.T, crt, key, ca []byte) {
		data := map[string][]byte{KeyCert: crt, KeyKey: key, KeyCA: ca}
		_, err := Validate(Secret{Name: "s", Namespace: "ns", Found: true, Data: data}, "c", "ns", now)
		var e *Error
		if !errors.As(err, &e) || e.Reason == "" || !strings.Contains(e.Message, `Secret "s"`) {
			t.Errorf("got error %v", err)
		}
	})
}

func TestVerifyMember(t *testing.T) {
	root, other := authority(t, nil, "root", nil), authority(t, nil, "other", nil)
	inter := authority(t, &root, "intermediate", nil)
	key := newKey(t)
	leaf := issue(t, &root, key, nil)
	cases := map[string]struct {
		reason    string
		presented []issuer
		server    string
		at        time.Time
		ok        bool
	}{
		"Good":         {"A member of the cluster.", []issuer{leaf}, "c-0.c.ns.svc.cluster.local", now, true},
		"Intermediate": {"A member may present more than its own certificate.", []issuer{issue(t, &inter, key, nil), inter}, "c-0.c.ns.svc.cluster.local", now, true},
		"Expired":      {"A member that has not got its new certificate yet.", []issuer{leaf}, "c-0.c.ns.svc.cluster.local", after.AddDate(0, 1, 0), true},
		"Early":        {"A member whose clock is ahead of ours.", []issuer{leaf}, "c-0.c.ns.svc.cluster.local", before.AddDate(0, -1, 0), true},
		"ExpiredRoot":  {"The authority has expired before its certificate.", []issuer{issue(t, &root, key, func(c *x509.Certificate) { c.NotAfter = after.AddDate(9, 0, 0) })}, "c-0.c.ns.svc.cluster.local", after.AddDate(5, 0, 0), true},
		"OtherName":    {"A member of another cluster of the same authority.", []issuer{leaf}, "d-0.d.ns.svc.cluster.local", now, false},
		"OtherRoot":    {"Whoever has a certificate of another authority.", []issuer{issue(t, &other, key, nil)}, "c-0.c.ns.svc.cluster.local", now, false},
		"OtherExpired": {"Even if it has expired.", []issuer{issue(t, &other, key, nil)}, "c-0.c.ns.svc.cluster.local", after.AddDate(0, 1, 0), false},
		"None":         {"Nobody at all.", nil, "c-0.c.ns.svc.cluster.local", now, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pool := x509.NewCertPool()
			pool.AddCert(root.cert)
			var chain []*x509.Certificate
			for _, c := range tc.presented {
				chain = append(chain, c.cert)
			}
			if err := VerifyMember(chain, pool, tc.server, tc.at); (err == nil) != tc.ok {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

func TestWithout(t *testing.T) {
	a, b, c := authority(t, nil, "a", nil).pem(), authority(t, nil, "b", nil).pem(), authority(t, nil, "c", nil).pem()
	cases := map[string]struct {
		reason string
		other  []byte
		files  [][]byte
		want   []byte
	}{
		"Nothing":  {"What is known already is not kept.", join(a, b), [][]byte{b, a}, nil},
		"Replaced": {"An authority that is gone is kept.", b, [][]byte{a, nil}, a},
		"Bundle":   {"Of a bundle only what is missing.", join(a, c), [][]byte{join(a, b)}, b},
		"Once":     {"Each certificate is kept once.", c, [][]byte{join(a, b), join([]byte("text\n"), b, a)}, join(a, b)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(string(tc.want), string(Without(tc.other, tc.files...))); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// FuzzWithout looks for files that crash the comparison, or of which something
// known is kept.
func FuzzWithout(f *testing.F) {
	const crt = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	f.Add([]byte(crt), []byte(crt), []byte("x"))
	f.Add([]byte(""), []byte(crt+crt), []byte(crt))
	f.Fuzz(func(t *testing.T, other, a, b []byte) {
		got := Without(other, a, b)
		if again := Without(other, got); !bytes.Equal(got, again) {
			t.Errorf("what was kept is not kept again: %q and %q", got, again)
		}
		if rest := Without(got, got); len(rest) > 0 {
			t.Errorf("a file lacks %q of itself", rest)
		}
	})
}
