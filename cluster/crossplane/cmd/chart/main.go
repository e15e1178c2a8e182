// Command chart prints what a Helm chart renders to, as "helm template" does.
package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

func main() {
	var (
		name      = flag.String("name", "release", "name of the release")
		namespace = flag.String("namespace", "default", "namespace of the release")
		values    = flag.String("values", "", "file with values")
	)
	flag.Parse()
	if err := run(flag.Arg(0), *name, *namespace, *values); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run(dir, name, namespace, values string) error {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return err
	}
	v, err := chartutil.ReadValuesFile(values)
	if err != nil {
		return err
	}
	r, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return err
	}
	files, err := engine.Render(c, r)
	if err != nil {
		return err
	}
	for _, f := range sorted(files) {
		fmt.Printf("---\n%s\n", files[f])
	}
	return nil
}

// sorted returns the names of the files that hold objects.
func sorted(files map[string]string) []string {
	var out []string
	for f, text := range files {
		if path.Ext(f) == ".yaml" && strings.TrimSpace(text) != "" {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out
}
