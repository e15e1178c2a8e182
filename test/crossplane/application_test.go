//go:build crossplane

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

package crossplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/valkey-io/valkey-go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-valkey/test/valkeyserver"
)

// An application uses a cluster. It knows its own user and password, and from
// the connection Secret where the cluster is.
type application struct {
	t      *testing.T
	client valkey.Client
	rounds int
}

func newApplication(t *testing.T, cluster string) *application {
	t.Helper()
	secret := &corev1.Secret{}
	await(t, "the connection Secret of "+cluster, func(ctx context.Context) error {
		return kube.Get(ctx, client.ObjectKey{Namespace: team, Name: cluster + "-connection"}, secret)
	})
	host := fmt.Sprintf("%s.%s.svc.cluster.local", cluster, team)
	o := valkey.ClientOption{
		InitAddress: []string{string(secret.Data["endpoint"])}, Username: "sessions", Password: "change-me", DisableCache: true,
		SendToReplicas: func(valkey.Completed) bool { return false },
	}
	scheme := "valkey"
	if ca := secret.Data["ca.crt"]; ca != nil {
		scheme = "valkeys"
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(ca) {
			t.Fatal("ca.crt holds no certificate")
		}
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: host}
	}
	for key, want := range map[string]string{
		"host": host, "port": "6379", "endpoint": host + ":6379", "url": scheme + "://" + host + ":6379",
	} {
		if got := string(secret.Data[key]); got != want {
			t.Errorf("%s in the connection Secret is %q, want %q", key, got, want)
		}
	}
	a := &application{t: t}
	await(t, "the application connects to "+cluster, func(context.Context) (err error) {
		a.client, err = valkey.NewClient(o)
		return err
	})
	t.Cleanup(a.client.Close)
	return a
}

// once writes a value and reads it back.
func (a *application) once() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	a.rounds++
	key, want := fmt.Sprintf("round:%d", a.rounds%1000), fmt.Sprint(a.rounds)
	if err := a.client.Do(ctx, a.client.B().Set().Key(key).Value(want).Build()).Error(); err != nil {
		return fmt.Errorf("cannot write %s: %w", key, err)
	}
	got, err := a.client.Do(ctx, a.client.B().Get().Key(key).Build()).ToString()
	if err == nil && got != want {
		err = fmt.Errorf("it is %q, want %q", got, want)
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", key, err)
	}
	return nil
}

// roundTrip fails the test if a value cannot be written and read back, or if the
// application may do more than it should.
func (a *application) roundTrip() {
	a.t.Helper()
	if err := a.once(); err != nil {
		a.t.Error(err)
	}
	if err := a.client.Do(context.Background(), a.client.B().Flushall().Build()).Error(); err == nil {
		a.t.Error("the application may delete everything")
	}
}

// keepWorking writes and reads until it is stopped, which returns the number of
// rounds and what failed.
func (a *application) keepWorking() (stop func() (int, []error)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan []error)
	go func() {
		var failed []error
		for ctx.Err() == nil {
			if err := a.once(); err != nil {
				failed = append(failed, err)
			}
		}
		done <- failed
	}()
	return func() (int, []error) {
		cancel()
		failed := <-done
		return a.rounds, failed
	}
}

// issue plays cert-manager for one Certificate.
func issue(t *testing.T, name string) {
	t.Helper()
	cert := object("cert-manager.io/v1", "Certificate", team, name)
	await(t, "the Composition asks for a certificate", func(ctx context.Context) error {
		return kube.Get(ctx, client.ObjectKeyFromObject(cert), cert)
	})
	names, _, err := unstructured.NestedStringSlice(cert.Object, "spec", "dnsNames")
	secret, _, err2 := unstructured.NestedString(cert.Object, "spec", "secretName")
	if err := errors.Join(err, err2); err != nil || len(names) == 0 || secret == "" {
		t.Fatalf("the Certificate asks for names %v in Secret %q: %v", names, secret, err)
	}
	made := valkeyserver.NewTLS(t, names...)
	s := &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": made.Cert, "tls.key": made.Key, "ca.crt": made.CA}}
	s.SetName(secret)
	s.SetNamespace(team)
	if err := kube.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	ready := []any{map[string]any{"type": "Ready", "status": "True", "reason": "Issued", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}}
	if err := unstructured.SetNestedSlice(cert.Object, ready, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	if err := kube.Status().Update(t.Context(), cert); err != nil {
		t.Fatal(err)
	}
}
