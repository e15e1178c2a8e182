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
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/servingcert"
	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

// serving is the TLS Secret of the tests' clusters.
const serving = "serving"

func secured(ref string) func(*v1alpha1.ValkeyCluster) {
	return func(c *v1alpha1.ValkeyCluster) { c.Spec.TLS = &v1alpha1.TLS{SecretRef: ref} }
}

// secret makes a Secret be as given.
func (s *space) secret(name string, kind corev1.SecretType, data map[string][]byte) {
	s.Helper()
	s.apply(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.name}, Type: kind, Data: data})
}

// roots is a pool of authorities.
func roots(as ...*authority) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, a := range as {
		pool.AddCert(a.cert)
	}
	return pool
}

// host is the name of a member's pod.
func (s *space) host(cluster, pod string) string {
	return fmt.Sprintf("%s.%s.%s.svc.cluster.local", pod, cluster, s.name)
}

// presented returns the certificate that a member presents, verified for the name
// of its pod.
func (s *space) presented(ctx context.Context, cluster string, pod *corev1.Pod, pool *x509.CertPool) (*x509.Certificate, error) {
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: 2 * time.Second}, Config: &tls.Config{RootCAs: pool, ServerName: s.host(cluster, pod.Name), MinVersion: tls.VersionTLS12}}
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, "6379"))
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // Only the handshake matters.
	return c.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
}

// trusts tells whether a member accepts a client with a certificate on its bus,
// which is always mutual TLS.
func (s *space) trusts(ctx context.Context, cluster string, pod *corev1.Pod, pool *x509.CertPool, l leaf) (bool, error) {
	pair, err := tls.X509KeyPair(l.data[corev1.TLSCertKey], l.data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return false, err
	}
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: 2 * time.Second}, Config: &tls.Config{RootCAs: pool, ServerName: s.host(cluster, pod.Name), Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, "16379"))
	if err != nil {
		return false, err
	}
	defer c.Close() //nolint:errcheck // Only the handshake matters.
	if err := c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		return false, err
	}
	// A server that does not accept the certificate ends the connection after
	// the handshake; one that does waits for us to speak.
	_, err = c.Read(make([]byte, 1))
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout(), nil
}

// onEach awaits that something holds for the pod of every member, and returns how
// long after a moment that was.
func (s *space) onEach(cluster, what string, since time.Time, ok func(context.Context, *corev1.Pod) (bool, error)) time.Duration {
	s.Helper()
	ps, err := s.pods(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.Context(), time.Duration(float64(30*time.Second)**patience))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for i := 0; i < len(ps); {
		done, err := ok(ctx, &ps[i])
		if done {
			i++
			continue
		}
		select {
		case <-ctx.Done():
			s.Fatalf("%s: not on %s after %s: %v", what, ps[i].Name, time.Since(since), err)
		case <-tick.C:
		}
	}
	d := time.Since(since)
	s.Logf("%s: on every member after %s", what, d.Round(time.Millisecond))
	return d
}

// served awaits that every member presents a certificate.
func (s *space) served(what string, l leaf, pool *x509.CertPool, since time.Time) time.Duration {
	s.Helper()
	return s.onEach("a", what, since, func(ctx context.Context, p *corev1.Pod) (bool, error) {
		got, err := s.presented(ctx, "a", p, pool)
		return err == nil && got.Equal(l.cert), err
	})
}

// TestTLS runs a cluster by TLS under traffic, breaks its Secret in every way and
// mends it again, and replaces certificate, authority and Secret.
func TestTLS(t *testing.T) {
	onVersions(t, testTLS)
}

func testTLS(t *testing.T, version string) {
	s := newSpace(t, 6)
	old, next, other := newAuthority(t, "old"), newAuthority(t, "next"), newAuthority(t, "other")
	pool := roots(old, next, other)
	first := old.issue(s.name)
	s.config("config", v1alpha1.ValkeyConfigSpec{
		ImageRef: menu(version), Resources: &v1alpha1.ConfigResources{Memory: "512Mi"}, Valkey: map[string]string{"maxmemory": "400mb"},
	})
	all := s.global("all", role())
	s.run("a", s.own("config"), 3, 1, secured(serving), func(c *v1alpha1.ValkeyCluster) {
		c.Spec.ACL = []v1alpha1.ACLBinding{user("app", "pw", all)}
	})
	s.awaitInvalid("a", fmt.Sprintf("TLS Secret %q not found in namespace %q", serving, s.name), 20*time.Second)
	s.secret(serving, corev1.SecretTypeTLS, first.data)
	t.Logf("Active %s after the Secret was made", s.awaitActive("a", 60*time.Second).Round(100*time.Millisecond))
	s.awaitConverged("a", 60*time.Second)
	s.served("the first certificate", first, pool, time.Now())
	if err := s.topology(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	pods := s.podUIDs("a")

	w := &watched{space: s, cluster: "a", options: witness.Options{
		Addrs: []string{s.address("a")}, Rate: 500, Keys: 4000,
		Username: "app", Password: "pw", TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	}}
	w.begin(20_000)
	w.step("invalid Secrets", func() { w.invalidSecrets(old, next, first) }, func() { s.awaitConverged("a", 30*time.Second) })
	w.step("rotations", func() { s.rotate(old, next, other, pool) }, func() { s.awaitConverged("a", 60*time.Second) })

	operator, _ := s.passwordsOf("a")
	w.step("new passwords of the system users", func() { s.ask("a", "1") }, func() { s.rotated("a", "1", 30*time.Second) })
	s.onlyNew(w.cluster, operator)
	s.reconnect("a")
	s.awaitConverged("a", 30*time.Second)

	r := w.finish()
	if bad := r.Clean(); bad != "" {
		t.Errorf("clients see %s", bad)
	}
	if err := s.topology(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if after := s.podUIDs("a"); fmt.Sprint(after) != fmt.Sprint(pods) {
		t.Errorf("pods were %v and are %v", pods, after)
	}
	s.notRestarted("a")
}

// notRestarted checks that no container of a cluster was ever started again.
func (s *space) notRestarted(cluster string) {
	s.Helper()
	ps, err := s.pods(s.Context(), cluster)
	if err != nil {
		s.Fatal(err)
	}
	for _, p := range ps {
		for _, c := range p.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				s.Errorf("%s was restarted %d times", p.Name, c.RestartCount)
			}
		}
	}
}

// invalidSecrets breaks the Secret of a running cluster in every way, waits until
// that is told, and mends it.
func (s *watched) invalidSecrets(old, next *authority, good leaf) {
	s.Helper()
	const kind = corev1.SecretTypeTLS
	names := servingcert.Names("a", s.name)
	spoilt := func(edit func(*x509.Certificate)) leaf { return old.issue(s.name, edit) }
	without := func(name string) map[string][]byte {
		return spoilt(func(c *x509.Certificate) {
			c.DNSNames = slices.DeleteFunc(c.DNSNames, func(n string) bool { return n == name })
		}).data
	}
	early := spoilt(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour).Truncate(time.Second) })
	expired := spoilt(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute).Truncate(time.Second) })
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	junk := []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")

	for _, tc := range []struct {
		reason string
		data   map[string][]byte
		// opaque puts the data into another Secret, of a type that may lack keys.
		opaque bool
		want   string
	}{
		{"the Secret is empty", nil, true, `TLS Secret "odd" has no data`},
		{"it has no certificate", good.with(corev1.TLSCertKey, nil), true, `TLS Secret "odd" missing required key "tls.crt"`},
		{"it has no key", good.with(corev1.TLSPrivateKeyKey, nil), true, `TLS Secret "odd" missing required key "tls.key"`},
		{"it has no authority", good.with(servingcert.KeyCA, nil), false, `TLS Secret "serving" missing required key "ca.crt"`},
		{"the certificate is not PEM", good.with(corev1.TLSCertKey, []byte("x")), false, `TLS Secret "serving": tls.crt is not valid PEM`},
		{"the certificate is none", good.with(corev1.TLSCertKey, junk), false, `TLS Secret "serving": tls.crt is not a valid X.509 certificate`},
		{"the Service is not named", without(names[0]), false, fmt.Sprintf("TLS cert in Secret %q missing SAN %q", serving, names[0])},
		{"the members are not named", without(names[1]), false, fmt.Sprintf("TLS cert in Secret %q missing SAN %q", serving, names[1])},
		{"the key is another's", good.with(corev1.TLSPrivateKeyKey, next.issue(s.name).data[corev1.TLSPrivateKeyKey]), false, `TLS Secret "serving": tls.key does not match tls.crt`},
		{"the authority is another's", good.with(servingcert.KeyCA, next.pem), false, `TLS Secret "serving": tls.crt does not verify against ca.crt: x509: certificate signed by unknown authority`},
		{"it is too early", early.data, false, `TLS Secret "serving": tls.crt is not valid before ` + at(early.cert.NotBefore)},
		{"it is too late", expired.data, false, `TLS Secret "serving": tls.crt expired at ` + at(expired.cert.NotAfter)},
		{"it is for servers only", spoilt(func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] }).data, false, `TLS Secret "serving": tls.crt lacks the extended key usage client auth, without which members cannot join each other`},
	} {
		begin := time.Now()
		if tc.opaque {
			s.secret("odd", corev1.SecretTypeOpaque, tc.data)
			s.edit("a", secured("odd"))
		} else {
			s.secret(serving, kind, tc.data)
		}
		s.awaitInvalid(s.cluster, tc.want, 15*time.Second)
		told := time.Since(begin)
		begin = time.Now()
		if tc.opaque {
			s.edit("a", secured(serving))
		} else {
			s.secret(serving, kind, good.data)
		}
		s.awaitCluster("a", "Active again", 15*time.Second, func(c *v1alpha1.ValkeyCluster) bool {
			return c.Status.State == v1alpha1.StateActive && c.Status.Message == ""
		})
		s.Logf("%s: told after %s, healed after %s", tc.reason, told.Round(100*time.Millisecond), time.Since(begin).Round(100*time.Millisecond))
	}
	if err := kube.Delete(s.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: serving, Namespace: s.name}}); err != nil {
		s.Fatal(err)
	}
	s.awaitInvalid(s.cluster, fmt.Sprintf("TLS Secret %q not found in namespace %q", serving, s.name), 15*time.Second)
	s.closedWhileInvalid()
	s.secret(serving, kind, good.data)
	s.awaitActive("a", 15*time.Second)
	s.served("the certificate is still the first", good, roots(old), time.Now())
}

// closedWhileInvalid checks that a user loses access although the cluster's
// Secret is broken.
func (s *watched) closedWhileInvalid() {
	s.Helper()
	c, err := s.get(s.Context(), "a")
	if err != nil {
		s.Fatal(err)
	}
	app := c.Spec.ACL[0]
	s.everywhere("a", "while Invalid, a user is added", s.bind("a", app, user("guest", "pw", app.Permissions[0].RoleRef)), exists("guest", true))
	s.everywhere("a", "while Invalid, a user is removed", s.bind("a", app), exists("guest", false))
}

// rotate replaces the leaf some times, then the authority by way of a bundle, then
// the Secret, and at last the Secret with one of an authority that nobody has
// heard of.
func (s *space) rotate(old, next, other *authority, pool *x509.CertPool) {
	s.Helper()
	const kind = corev1.SecretTypeTLS
	var times []time.Duration
	var l leaf
	for i := range 5 {
		l = old.issue(s.name)
		begin := time.Now()
		s.secret(serving, kind, l.data)
		times = append(times, s.served(fmt.Sprintf("leaf %d", i+1), l, pool, begin))
	}

	bundle := slices.Concat(old.pem, next.pem)
	probe := next.issue(s.name)
	begin := time.Now()
	s.secret(serving, kind, l.with(servingcert.KeyCA, bundle))
	s.trusted("the next authority is trusted", pool, probe, true, begin)
	l = next.issue(s.name)
	begin = time.Now()
	s.secret(serving, kind, l.with(servingcert.KeyCA, bundle))
	times = append(times, s.served("a leaf of the next authority", l, pool, begin))
	begin = time.Now()
	s.secret(serving, kind, l.data)
	s.trusted("the old authority is not trusted any more", pool, old.issue(s.name), false, begin)

	l = next.issue(s.name)
	s.secret("second", kind, l.data)
	begin = time.Now()
	s.edit("a", secured("second"))
	times = append(times, s.served("another Secret", l, pool, begin))

	l = other.issue(s.name)
	s.secret("third", kind, l.data)
	begin = time.Now()
	s.edit("a", secured("third"))
	s.served("another Secret of another authority", l, pool, begin)
	s.trusted("its authority is trusted", pool, l, true, begin)
	s.await("the provider forgets the previous authority", 60*time.Second, func(ctx context.Context) (bool, string, error) {
		cp := &corev1.Secret{}
		err := kube.Get(ctx, client.ObjectKey{Namespace: s.name, Name: "a-operator-tls"}, cp)
		return err == nil && len(cp.Data["previous-ca.crt"]) == 0 && bytes.Equal(cp.Data[servingcert.KeyCA], other.pem), "it has " + string(cp.Data["previous-ca.crt"]), err
	})

	m, err := median(times)
	if err != nil {
		s.Fatal(err)
	}
	s.Logf("a change of the certificate is live on all 6 members after %s (median of %d)", m.Round(time.Millisecond), len(times))
	if m > live {
		s.Errorf("the median is above %s", live)
	}
}

// trusted awaits that the bus of every member accepts a certificate, or does not.
func (s *space) trusted(what string, pool *x509.CertPool, l leaf, want bool, since time.Time) {
	s.Helper()
	s.onEach("a", what, since, func(ctx context.Context, p *corev1.Pod) (bool, error) {
		got, err := s.trusts(ctx, "a", p, pool, l)
		return err == nil && got == want, err
	})
}

// TestTLSExpiresWhileServing lets a certificate expire on running members: the
// provider must still reach them to give them the next one.
func TestTLSExpiresWhileServing(t *testing.T) {
	t.Parallel()
	s := newSpace(t, 2)
	ca := newAuthority(t, "ca")
	s.secret(serving, corev1.SecretTypeTLS, ca.issue(s.name, func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(0, 0, 20) }).data)
	s.run("a", menu(newest), 1, 1, secured(serving))
	s.awaitConverged("a", 60*time.Second)
	s.awaitEvent("a", "renew it", 15*time.Second)
	s.awaitCluster("a", "warning of the certificate's end", 5*time.Second, func(c *v1alpha1.ValkeyCluster) bool {
		return c.GetCondition("CertificateValid").Reason == "ExpiresSoon"
	})
	short := ca.issue(s.name, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(12 * time.Second) })
	s.secret(serving, corev1.SecretTypeTLS, short.data)
	s.served("a certificate that soon expires", short, roots(ca), time.Now())
	s.await("the certificate has expired", 20*time.Second, func(context.Context) (bool, string, error) {
		return time.Now().After(short.cert.NotAfter.Add(time.Second)), "", nil
	})
	good := ca.issue(s.name)
	begin := time.Now()
	s.secret(serving, corev1.SecretTypeTLS, good.data)
	s.served("the certificate after an expired one", good, roots(ca), begin)
	s.awaitConverged("a", 60*time.Second)
	if err := s.topology(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	s.notRestarted("a")
}
