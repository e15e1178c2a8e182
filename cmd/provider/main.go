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

// Command provider runs the controllers of provider-valkey.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alecthomas/kingpin/v2"
	xpcontroller "github.com/crossplane/crossplane-runtime/v2/pkg/controller"
	"github.com/crossplane/crossplane-runtime/v2/pkg/feature"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/ratelimiter"
	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/crossplane-contrib/provider-valkey/apis/v1alpha1"
	"github.com/crossplane-contrib/provider-valkey/internal/controller/common"
	"github.com/crossplane-contrib/provider-valkey/internal/manifest"
	"github.com/crossplane-contrib/provider-valkey/internal/metrics"
	"github.com/crossplane-contrib/provider-valkey/internal/valkey"
	"github.com/crossplane-contrib/provider-valkey/internal/version"
)

// A config holds the flags.
type config struct {
	debug          bool
	leaderElection bool
	sync           time.Duration
	poll           time.Duration
	pollJitter     float64
	rate           int
	metricsAddr    string
	healthAddr     string
	pprofAddr      string
	zoneSpread     string
	pullSecrets    []string
	changelogs     bool
	changelogsSock string
	passwordAge    time.Duration
	policies       bool
	nodeMetrics    bool
	maxRolling     int
	rollPatience   time.Duration
}

func main() {
	c := flags(os.Args[1:])
	if err := run(ctrl.SetupSignalHandler(), c); err != nil {
		fmt.Fprintln(os.Stderr, "provider-valkey:", err)
		os.Exit(1)
	}
}

func flags(args []string) config {
	c := config{}
	app := kingpin.New("provider-valkey", "Runs Valkey clusters on Kubernetes.").DefaultEnvars()
	app.Version(version.Version)
	app.Flag("debug", "Log debug messages.").Short('d').BoolVar(&c.debug)
	app.Flag("leader-election", "Let only one of several providers work.").Short('l').Envar("LEADER_ELECTION").BoolVar(&c.leaderElection)
	app.Flag("sync", "Interval at which caches are read anew.").Short('s').Default("1h").DurationVar(&c.sync)
	app.Flag("poll", "Interval at which a cluster at rest is looked at.").Default("30s").DurationVar(&c.poll)
	app.Flag("poll-jitter", "Share of the poll interval, from 0 to 1, by which polls are spread.").Default("0.2").Float64Var(&c.pollJitter)
	app.Flag("max-reconcile-rate", "Highest number of passes a second, and of passes at once.").Default("100").IntVar(&c.rate)
	app.Flag("metrics-bind-address", "Address of the metrics endpoint.").Default(":8080").StringVar(&c.metricsAddr)
	app.Flag("health-probe-bind-address", "Address of the health endpoints.").Default(":8081").StringVar(&c.healthAddr)
	app.Flag("pprof-bind-address", "Address at which Go profiles of the provider itself can be read, nowhere if empty.").StringVar(&c.pprofAddr)
	app.Flag("default-zone-spread", "Zone spread of clusters that do not set one: bestEffort or required.").Envar("DEFAULT_ZONE_SPREAD").
		Default(string(v1alpha1.ZoneSpreadBestEffort)).EnumVar(&c.zoneSpread, string(v1alpha1.ZoneSpreadBestEffort), string(v1alpha1.ZoneSpreadRequired))
	app.Flag("image-pull-secret", "Secret that every pod pulls its image with (repeatable). It must exist in the clusters' namespaces.").StringsVar(&c.pullSecrets)
	app.Flag("enable-changelogs", "Send every change to the change log sidecar.").Envar("ENABLE_CHANGE_LOGS").BoolVar(&c.changelogs)
	app.Flag("changelogs-socket-path", "Socket of the change log sidecar.").Envar("CHANGELOGS_SOCKET_PATH").
		Default("/var/run/changelogs/changelogs.sock").StringVar(&c.changelogsSock)
	app.Flag("network-policies", "Make a NetworkPolicy for every cluster that opens its bus to its own pods only, unless another policy selects them.").BoolVar(&c.policies)
	app.Flag("max-password-age", "Age at which the passwords of the system users are replaced, 0 for never.").Default("0").DurationVar(&c.passwordAge)
	app.Flag("node-metrics", "Tell Prometheus of every member: up to 12 more series each.").BoolVar(&c.nodeMetrics)
	app.Flag("max-rolling-clusters", "How many clusters may replace their members at once for a planned change, 0 for any number.").Default("10").IntVar(&c.maxRolling)
	app.Flag("roll-patience", "Time without progress after which a roll gives its place up to others that wait, 0 for never.").Default("10m").DurationVar(&c.rollPatience)
	kingpin.MustParse(app.Parse(args))
	return c
}

func run(ctx context.Context, c config) error {
	zl := zap.New(zap.UseDevMode(c.debug), func(o *zap.Options) { o.TimeEncoder = zapcore.ISO8601TimeEncoder })
	log := logging.NewLogrLogger(zl.WithName("provider-valkey"))
	ctrl.SetLogger(logr.Discard())
	if c.debug {
		ctrl.SetLogger(zl)
	}
	rc, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find the Kubernetes API: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	rc = ratelimiter.LimitRESTConfig(rc, c.rate)
	mgr, err := ctrl.NewManager(rc, options(c, scheme))
	if err != nil {
		return fmt.Errorf("cannot make the manager: %w", err)
	}
	needed, err := c.needed()
	if err != nil {
		return err
	}
	if err := awaitPermissions(ctx, mgr.GetClient(), needed, log); err != nil {
		return err
	}
	oldPolicies, err := c.seesOldPolicies(ctx, mgr.GetClient())
	if err != nil {
		return err
	}
	tlsSecrets, err := cache.New(rc, cache.Options{
		Scheme: scheme, Mapper: mgr.GetRESTMapper(), SyncPeriod: &c.sync, DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {Field: fields.OneTermEqualSelector("type", string(corev1.SecretTypeTLS))}},
	})
	if err != nil {
		return fmt.Errorf("cannot make the cache of TLS Secrets: %w", err)
	}
	clusters := metrics.NewClusters(c.nodeMetrics)
	if err := ctrlmetrics.Registry.Register(clusters); err != nil {
		return fmt.Errorf("cannot register the metrics: %w", err)
	}
	pool := valkey.NewPool(valkey.PoolOptions{Stats: c.nodeMetrics})
	defer pool.Close()
	if err := addRunnables(mgr, tlsSecrets, pool); err != nil {
		return err
	}
	f := &feature.Flags{}
	f.Enable(feature.EnableBetaManagementPolicies)
	o := common.Options{
		Options: xpcontroller.Options{
			Logger: log, MaxConcurrentReconciles: c.rate, PollInterval: c.poll,
			GlobalRateLimiter: ratelimiter.NewGlobal(c.rate), Features: f,
		},
		Pool: pool, Metrics: clusters, TLSSecrets: tlsSecrets, DefaultZoneSpread: v1alpha1.ZoneSpread(c.zoneSpread),
		ImagePullSecrets: c.pullSecrets, MaxPasswordAge: c.passwordAge, PollJitter: c.pollJitter,
		NetworkPolicies: c.policies, OldPolicies: oldPolicies,
		MaxRolling: c.maxRolling, RollPatience: c.rollPatience,
	}
	if c.changelogs {
		closeLog, err := changeLog(&o, c.changelogsSock)
		if err != nil {
			return err
		}
		defer closeLog()
	}
	if err := setup(ctx, mgr, o); err != nil {
		return err
	}
	log.Info("Starting", "version", version.Version, "poll", c.poll.String())
	return mgr.Start(ctx)
}

// eventLimits let every failover of a big cluster be told: by default, all but 25
// events of an object are dropped, and more than ten of a kind lose their text.
var eventLimits = record.CorrelatorOptions{BurstSize: 500, QPS: 1, MaxEvents: 500}

// options of the manager. Caches hold only what the provider made itself, so
// that its memory does not grow with the rest of the Kubernetes cluster; but with
// the flag for NetworkPolicies those of others count too.
func options(c config, scheme *runtime.Scheme) ctrl.Options {
	ours := labels.SelectorFromSet(labels.Set{manifest.LabelManagedBy: manifest.ManagedBy})
	byObject := map[client.Object]cache.ByObject{
		&corev1.Node{}:    {Transform: common.StripNode},
		&corev1.Pod{}:     {Label: ours, Transform: common.StripPod},
		&corev1.Secret{}:  {Label: secretsOfClusters()},
		&corev1.Service{}: {Label: ours}, &policyv1.PodDisruptionBudget{}: {Label: ours},
		&apiextensionsv1.CustomResourceDefinition{}: {Transform: definition},
	}
	if !c.policies {
		byObject[&networkingv1.NetworkPolicy{}] = cache.ByObject{Label: ours}
	}
	lease, renew := 60*time.Second, 50*time.Second
	return ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			SyncPeriod:       &c.sync,
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         byObject,
		},
		Metrics:                       metricsserver.Options{BindAddress: c.metricsAddr},
		HealthProbeBindAddress:        c.healthAddr,
		PprofBindAddress:              c.pprofAddr,
		LeaderElection:                c.leaderElection,
		LeaderElectionID:              "crossplane-leader-election-provider-valkey",
		LeaderElectionResourceLock:    resourcelock.LeasesResourceLock,
		LeaderElectionReleaseOnCancel: true,
		EventBroadcaster:              record.NewBroadcaster(record.WithCorrelatorOptions(eventLimits)),
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
	}
}

// secretsOfClusters selects the Secrets that are compared in every pass. Those of
// single members are written once and never read: they would be most of all.
func secretsOfClusters() labels.Selector {
	s := labels.SelectorFromSet(labels.Set{manifest.LabelManagedBy: manifest.ManagedBy})
	ofMember, err := labels.NewRequirement(manifest.LabelShardIndex, selection.DoesNotExist, nil)
	if err != nil {
		// More in the cache than needed does no harm.
		return s
	}
	return s.Add(*ofMember)
}

func addRunnables(mgr ctrl.Manager, tlsSecrets cache.Cache, pool *valkey.Pool) error {
	if err := mgr.Add(tlsSecrets); err != nil {
		return fmt.Errorf("cannot add the cache of TLS Secrets: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(pool.Run)); err != nil {
		return fmt.Errorf("cannot add the connection pool: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("ping", healthz.Ping)
}
