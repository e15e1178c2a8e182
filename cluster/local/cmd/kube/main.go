// Command kube holds a whole Kubernetes in one binary: etcd, the control
// plane, the node's agents and kubectl. One binary links once and shares its
// pages in memory. The component is picked by the name the program is called
// by, or else by its first argument.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // kubelet and CronJobs want zones that a bare machine may lack.

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// components maps a name to the program; each returns its exit code.
var components = map[string]func() int{
	"etcd": func() int { etcdmain.Main(os.Args); return 0 },

	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(kcm.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },

	"kubelet":    func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) },
	"kube-proxy": func() int { return cli.Run(proxy.NewProxyCommand()) },

	"kubectl": func() int {
		if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
			util.CheckErr(err) // Prints as kubectl does, and exits.
		}
		return 0
	},
}

func main() {
	if component, ok := components[filepath.Base(os.Args[0])]; ok {
		os.Exit(component())
	}
	if len(os.Args) > 1 {
		if component, ok := components[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			os.Exit(component())
		}
	}
	names := strings.Join(slices.Sorted(maps.Keys(components)), "|")
	fmt.Fprintf(os.Stderr, "usage: %s %s [ARGUMENT...]\n", filepath.Base(os.Args[0]), names)
	os.Exit(2)
}
