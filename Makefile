# Debian 12, root and Go suffice: what else a target needs is built or unpacked
# into the cache folder on first use, which may take 20 minutes on two cores.

SHELL := /bin/bash
.DEFAULT_GOAL := help
# The targets share two cores and one Kubernetes: one at a time.
.NOTPARALLEL:

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)
CACHE   := $(or $(VALKEY_LOCAL_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/provider-valkey)
# What ships is built with the Go of go.mod's toolchain line, in which known
# vulnerabilities are mended. For tests the Go at hand does where that cannot be had.
TOOLCHAIN := $(shell awk '$$1 == "toolchain" { print $$2 }' go.mod)
export GOTOOLCHAIN := $(shell GOTOOLCHAIN=$(TOOLCHAIN) go version >/dev/null 2>&1 && echo $(TOOLCHAIN) || echo local)
# A tool is built again when its pinned version or Go changes.
TOOLS   := $(CACHE)/tools/$(shell { go env GOVERSION; cat hack/tools/go.mod; } | sha256sum | cut -c1-12)
LINT    := $(TOOLS)/golangci-lint
VULNS   := $(CACHE)/tools/$(shell { go env GOVERSION; cat hack/vulncheck/go.mod; } | sha256sum | cut -c1-12)/govulncheck
LOCAL   := cluster/local/local
CROSSPLANE := cluster/crossplane/crossplane
OUT     := _output
IMAGE   ?= localhost/provider-valkey:dev
PKG     := github.com/crossplane-contrib/provider-valkey

# What lint and vet look at: every file, whichever tests it belongs to.
TAGS    := api,server,cluster,crossplane,docs,scale
# Only the tests that match, for instance: make test-api RUN=TestManifests
RUN     ?= .
# How many inputs each fuzz target gets.
FUZZ    ?= 10000
# How many clusters of six members the scale test has, and more of its flags.
SCALE   ?= 1000
SCALEFLAGS ?=
# Checks that "make test" runs besides the tests.
CHECKS  ?=

# The same for all, so that nothing is compiled twice.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath -buildvcs=false

export VALKEY_TEST_KUBE := $(CACHE)/bin/kube
export VALKEY_TEST_ROOTFS := $(CACHE)/rootfs
export VALKEY_TEST_NFT := $(CACHE)/bin/nft
export VALKEY_TEST_CROSSPLANE_BIN := $(CACHE)/bin
export VALKEY_TEST_PROVIDER := $(CURDIR)/$(OUT)/provider
export VALKEY_LOCAL_AUDIT_LOG := $(CACHE)/cluster/log/audit.log

# gotest LAYER,ARGS... runs tests and keeps go test's own record of them.
define gotest
	@mkdir -p $(OUT)/test
	@$(TOOLS)/gotestsum --format pkgname --hide-summary skipped --jsonfile $(OUT)/test/$(1).json -- -run '$(RUN)' $(2)
endef

##@ Building

.PHONY: help
help: ## Show this text.
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: generate
generate: ## Generate deep copies, CRDs, the provider's ClusterRole, package files and the API reference.
	go generate ./apis/...
	go tool controller-gen rbac:roleName=provider-valkey,fileName=clusterrole.yaml paths=./internal/controller/... paths=./cmd/... output:rbac:artifacts:config=cluster/install
	go run ./hack/apidoc package/crds >docs/api.md
	cp package/crossplane.yaml crossplane.yaml

.PHONY: build
build: ## Build the provider: _output/provider.
	@[[ $(GOTOOLCHAIN) != local ]] || echo "not to be shipped: $(TOOLCHAIN) cannot be had, so this is built with $$(go env GOVERSION)" >&2
	go build -ldflags '-s -w -X $(PKG)/internal/version.Version=$(VERSION)' -o $(OUT)/provider ./cmd/provider

.PHONY: image
image: build ## Pack it into a docker-archive: _output/provider.tar (IMAGE=name:tag).
	$(LOCAL) image-provider $(OUT)/provider $(IMAGE) $(OUT)/provider.tar

.PHONY: xpkg
xpkg: ## Build the Crossplane package, for amd64 and arm64: _output/xpkg.
	@hack/xpkg.sh $(VERSION) $(OUT)/xpkg

.PHONY: clean
clean: ## Remove _output. The cache folder stays.
	rm -rf $(OUT)

##@ Checking

.PHONY: reviewable
reviewable: generated fmt vet lint test-unit ## All that a change must pass before others look at it.

.PHONY: generated
generated: ## Fail if generated files are not up to date.
	@hack/generated.sh

.PHONY: fmt
fmt: ## Fail if a file is not formatted.
	@! gofmt -l . | grep .

.PHONY: vet
vet: ## Run go vet.
	go vet -tags $(TAGS) ./...

.PHONY: lint
lint: $(LINT) ## Run golangci-lint, which also guards who imports whom.
	GOLANGCI_LINT_CACHE=$(CURDIR)/$(OUT)/lint-cache $(LINT) run --allow-parallel-runners --build-tags $(TAGS) ./...

.PHONY: vulncheck
vulncheck: $(VULNS) ## Fail if the provider can run into known vulnerabilities.
	@hack/vulncheck.sh $<

.PHONY: fuzz
fuzz: ## Feed random input to all that parses (FUZZ=inputs for each target, GUIDED=1).
	@hack/fuzz.sh $(FUZZ)

.PHONY: test
test: ## Run all layers of tests and sum up (CHECKS="generated lint" adds checks).
	@hack/layers.sh $(CHECKS) test-unit test-api test-server test-cluster

.PHONY: test-unit
test-unit: $(TOOLS)/gotestsum ## Test pure code and the planner's simulation.
	$(call gotest,test-unit,-timeout 5m ./...)

.PHONY: test-api
test-api: $(TOOLS)/gotestsum local ## Test the definitions on a real API server.
	$(call gotest,test-api,-tags api -count 1 -timeout 10m ./test/api/... ./cmd/...)

.PHONY: test-server
test-server: $(TOOLS)/gotestsum local ## Test the protocol on real servers of every supported Valkey.
	$(call gotest,test-server,-tags server -count 1 -timeout 15m ./internal/acl/... ./internal/valkey/... ./internal/manifest/... ./internal/controller/valkeycluster/... ./test/valkeyserver/... ./test/witness/... ./hack/copykeys/...)

.PHONY: test-cluster
test-cluster: $(TOOLS)/gotestsum build cluster-up ## Test the provider on a real Kubernetes of several nodes.
	@$(LOCAL) prometheus >/dev/null
	$(call gotest,test-cluster,-tags cluster -count 1 -timeout 60m -exec '$(CURDIR)/$(LOCAL) exec --' ./test/cluster/...)

.PHONY: test-crossplane
test-crossplane: $(TOOLS)/gotestsum cluster-up ## Test the package on real Crossplane, which is built first (not in CI).
	@$(CROSSPLANE) build
	@XPKG_ARCHS=amd64 hack/xpkg.sh v0.1.0 $(OUT)/xpkg && XPKG_ARCHS=amd64 hack/xpkg.sh v0.2.0 $(OUT)/xpkg
	$(call gotest,test-crossplane,-tags crossplane -count 1 -timeout 20m -exec '$(CURDIR)/$(LOCAL) exec --' ./test/crossplane/...)

.PHONY: test-docs
test-docs: $(TOOLS)/gotestsum ## Run the commands of the documentation (builds Crossplane first, not in CI).
	@$(CROSSPLANE) build
	$(call gotest,test-docs,-tags docs -count 1 -timeout 60m ./test/docs/...)

.PHONY: test-certmanager
test-certmanager: $(TOOLS)/gotestsum ## Test the example for cert-manager with cert-manager's own code.
	@mkdir -p $(OUT)/test
	@cd test/certmanager && $(TOOLS)/gotestsum --format pkgname --jsonfile $(CURDIR)/$(OUT)/test/$@.json -- -run '$(RUN)' ./...

.PHONY: test-alerts
test-alerts: ## Test alert rules and dashboard queries with Prometheus' own tool.
	@hack/monitoring.sh

.PHONY: test-scale
test-scale: build local ## Measure the provider with SCALE=1000 clusters of played servers (hours; not in CI).
	@mkdir -p $(OUT)/test
	go test -tags scale -count 1 -timeout 6h -v -exec '$(CURDIR)/test/scale/netns' ./test/scale -args -clusters $(SCALE) -out $(CURDIR)/$(OUT)/test/scale.json $(SCALEFLAGS)

##@ Running

.PHONY: demo
demo: image ## From a bare machine to a serving Valkey cluster.
	@hack/demo/demo.sh up

.PHONY: demo-down
demo-down: ## Remove the demo, and its Kubernetes if it started it.
	@hack/demo/demo.sh down

.PHONY: cluster-up
cluster-up: ## Start or repair the local Kubernetes.
	@$(LOCAL) up

.PHONY: cluster-down
cluster-down: ## Stop the local Kubernetes.
	@$(LOCAL) down

# local builds what the tests need of the local Kubernetes.
.PHONY: local
local:
	@$(LOCAL) build

$(VULNS):
	@echo "building govulncheck"
	@cd hack/vulncheck && go build -mod=readonly -ldflags '-s -w' -o $@ golang.org/x/vuln/cmd/govulncheck

$(TOOLS)/gotestsum: PACKAGE := gotest.tools/gotestsum
$(LINT): PACKAGE := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(TOOLS)/%:
	@echo "building $*"
	@cd hack/tools && go build -mod=readonly -ldflags '-s -w' -o $@ $(PACKAGE)
