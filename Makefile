# The targets that people and CI run; `make` lists them. Everything a target
# needs beyond Go and Node it fetches itself.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO ?= go
TOOL := $(GO) tool -modfile=tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BUILD := -trimpath -ldflags '-s -w -X main.version=$(VERSION)'
LISTEN ?= 127.0.0.1:8080
DATA ?= .agent-chat
FUZZTIME ?= 10s
SEED ?=
SEEDS ?= 1000
SET ?=

.PHONY: help
help: ## List the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Start everything on one port: LISTEN=127.0.0.1:8080 DATA=.agent-chat
	@exec bin/agent-chat dev --listen $(LISTEN) --data $(DATA)

.PHONY: test
test: ## Run all tests
	@scripts/test

.PHONY: setup
setup: ## Fetch what the other targets need
	$(GO) mod download
	$(GO) -C tools mod download
	$(GO) -C infra mod download

.PHONY: build
build: ## Build bin/agent-chat
	$(GO) build $(BUILD) -o bin/agent-chat ./cmd/agent-chat

.PHONY: bootstraps
bootstraps: ## Build the Lambda functions into build/lambda: what is deployed, and its twin for this machine
	@scripts/bootstraps

.PHONY: synth
synth: ## Write the CloudFormation template into cdk.out: SET="stage=prod basin=acme-chat"
	@scripts/bootstraps build/lambda arm64
	@scripts/synth $(SET)

.PHONY: race
race: ## Run all tests with the race detector
	$(GO) test -race -short ./...

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME=10s
	@scripts/fuzz $(FUZZTIME)

.PHONY: sim
sim: ## Simulate a fleet on a failing store: SEED=7 that seed, up to 20 times until it fails, with its history; else SEEDS=1000 new ones
	$(GO) test ./shared/simulation -run TestSeeds$$ -count=1 -timeout 1h $(if $(SEED),-v -args -sim.seed=$(SEED),-args -sim.seeds=$(SEEDS) -sim.first=$(shell date +%s))

.PHONY: fight
fight: ## Let two coordinators of one chat fight: SEED=7 that seed, with its history; else SEEDS=1000 new ones
	$(GO) test ./shared/coordinator -run TestFight$$ -count=1 -timeout 1h $(if $(SEED),-v -args -fight.seed=$(SEED),-args -fight.seeds=$(SEEDS) -fight.first=$(shell date +%s))

.PHONY: bench
bench: ## Measure, and rewrite docs/performance.md: PARTS="peers scale lambda" ROUNDS=3
	@scripts/bench/run

.PHONY: test-rie
test-rie: ## Compare the emulated Runtime API with AWS's own emulator (builds it if it is missing)
	@scripts/rie

.PHONY: test-s2lite
test-s2lite: ## Run the store's suite against the real `s2 lite` (installs it if it is missing: long)
	@scripts/s2lite

.PHONY: test-clients
test-clients: ## Follow through restarts with other people's SSE clients and a browser (fetches them)
	@scripts/clients/run

.PHONY: lint
lint: ## Check style, and the OpenAPI document
	$(TOOL) golangci-lint run --allow-parallel-runners ./...
	$(GO) -C infra tool -modfile=../tools/go.mod golangci-lint run --allow-parallel-runners -c ../.golangci.yml ./...
	@scripts/lint-openapi

.PHONY: fmt
fmt: ## Format
	$(TOOL) golangci-lint fmt ./...

.PHONY: gen
gen: ## Rewrite the generated files
	$(GO) test ./shared/openapi -update
	$(GO) test ./functions -run TestBootstraps$$ -update
	$(GO) -C infra test -run TestGolden . -update

.PHONY: check
check: lint test ## Lint and test

.PHONY: ci
ci: ## What CI runs
	@.ci/run
