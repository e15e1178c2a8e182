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

// Command witness watches a Valkey cluster as a client and reports what it saw when it is interrupted.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/crossplane-contrib/provider-valkey/test/witness"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "witness:", err)
		os.Exit(1)
	}
}

func run() error {
	o := witness.Options{}
	addrs := flag.String("addrs", "127.0.0.1:6379", "addresses of the cluster, with commas in between")
	flag.StringVar(&o.Username, "user", "", "ACL user; its password is in WITNESS_PASSWORD")
	flag.IntVar(&o.Rate, "rate", 2000, "operations a second")
	flag.IntVar(&o.Workers, "workers", 16, "connections' worth of concurrency")
	flag.IntVar(&o.Keys, "keys", 16000, "keys to write to")
	flag.StringVar(&o.Prefix, "prefix", "witness:", "prefix of all keys")
	flag.DurationVar(&o.Timeout, "timeout", 10*time.Second, "timeout of one operation")
	flag.DurationVar(&o.MaxDuration, "for", time.Hour, "how long to run at most")
	ca := flag.String("ca", "", "file of the CA; TLS is used if it is set")
	out := flag.String("out", "", "path of the report without extension; writes .json and .svg")
	flag.Parse()
	o.Addrs, o.Password = strings.Split(*addrs, ","), os.Getenv("WITNESS_PASSWORD")
	if *ca != "" {
		pem, err := os.ReadFile(*ca)
		if err != nil {
			return err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s holds no certificate", *ca)
		}
		o.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w, err := witness.Start(o)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-w.Done():
	}
	r := w.Stop()
	fmt.Println(r)
	if *out != "" {
		if err := r.Save(filepath.Dir(*out), filepath.Base(*out)); err != nil {
			return err
		}
	}
	if s := r.Clean(); s != "" {
		return errors.New(s)
	}
	return nil
}
