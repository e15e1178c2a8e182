#!/usr/bin/env bash
# Checks docs/monitoring with Prometheus' own tool: the alert rules and their
# tests, and that every query of the dashboard is one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../docs/monitoring"
promtool=$(../../cluster/local/local promtool)
queries=$(mktemp --suffix .yaml)
trap 'rm -f "$queries"' EXIT

"$promtool" check rules alerts.yaml
"$promtool" test rules alerts_test.yaml
# Each query becomes a recording rule. A string of JSON is one of YAML, too.
awk 'BEGIN { print "groups: [{name: dashboard, rules: [" }
	sub(/^ *"expr": /, "") { sub(/,$/, ""); printf "{record: query:%d, expr: %s},\n", ++n, $0 }
	END { print "]}]"; exit !n }' dashboard.json >"$queries"
"$promtool" check rules --lint none "$queries"
