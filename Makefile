# "make" alone lists the targets: those with a comment behind two hashes.

FUZZTIME ?= 30s
BENCH ?= .
DIR ?= .
SERVERS ?= .cache/servers

# All modules, but for "make test".
export GOWORK = $(CURDIR)/tools/all.work

.DEFAULT_GOAL := help
.PHONY: help demo test race lint fmt tidy fuzz bench bench-table cover mutants long fault-long scale scale-partitions partitions \
	partitions-faults partitions-model answers keys models-long flows steps rights replicas coming-over races-long rates-long cron-long \
	reads-long \
	names-long fleet-long crashes-long pages-long search-long doctor-long due-long drivers-long servers drivers-bench oidc pictures book \
	image release ci clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## run the main job on the files below DIR, on an embedded Redis
	go run ./cmd/work demo $(DIR)

test: ## test what users link, on the embedded Redis and on a real one if there is one
	GOWORK= go test work

race: ## the same under the race detector; .ci/run has a short form of it
	.ci/race work

lint: ## gofmt, go vet, the lint list, how files hang together, and the rules for Lua
	@test -z "$$(gofmt -l .)" || { echo "not as gofmt writes it:"; gofmt -l .; exit 1; }
	go vet work
	go run ./tools/lint
	go run ./tools/circles -bounds tools/circles/bounds.txt
	go run ./tools/luacheck lua

fmt: ## rewrite every Go file as gofmt does
	gofmt -w .

tidy: ## go mod tidy in every module
	@for dir in $$(go list -m -f '{{.Dir}}'); do echo "$$dir" && (cd "$$dir" && go mod tidy) || exit 1; done

fuzz: ## run every fuzz target for FUZZTIME
	.ci/fuzz $(FUZZTIME)

bench: ## run the benchmarks that match BENCH
	go test -run '^$$' -bench '$(BENCH)' -benchmem work

cover: ## write the coverage of all packages by all tests to cover.out
	go test -coverprofile=cover.out -coverpkg=github.com/265d0351/work/... work
	go tool cover -func=cover.out | tail -1

mutants: ## break the scripts one line at a time: which test sees it? (about half an hour)
	go run ./tools/mutants

long: fault-long answers scale partitions partitions-faults keys partitions-model models-long rights replicas coming-over races-long rates-long cron-long reads-long names-long fleet-long crashes-long pages-long search-long doctor-long due-long drivers-long ## every long form below (three to four hours; run it before a release)

fault-long: ## kill, stop, cut and fill for as long as docs/reliability.md says, and write its figures (about four minutes)
	@mkdir -p .cache && rm -f .cache/faults.jsonl
	WORK_REQUIRE_REDIS=1 WORK_FAULT_LONG=1 WORK_FAULT_FIGURES=$(CURDIR)/.cache/faults.jsonl \
		go test -count=1 -timeout 30m ./integration -run Fault
	go run ./tools/faulttable .cache/faults.jsonl docs/reliability.md

scale: ## kill, cut off, add and remove servers under Sentinels and in a cluster, and write the figures into docs/scale.md (a quarter of an hour)
	@mkdir -p .cache && rm -f .cache/scale.jsonl
	WORK_REQUIRE_REDIS=1 WORK_SCALE_LONG=1 WORK_FAULT_FIGURES=$(CURDIR)/.cache/scale.jsonl \
		go test -count=1 -timeout 60m -parallel 4 ./integration -run Scale -skip 'Partition|Resize'
	go run ./tools/faulttable .cache/scale.jsonl docs/scale.md scale scale
	$(MAKE) scale-partitions

scale-partitions: ## the part of it that is about a namespace of several partitions (seven minutes)
	@mkdir -p .cache && rm -f .cache/scale-partitions.jsonl
	WORK_REQUIRE_REDIS=1 WORK_SCALE_LONG=1 WORK_FAULT_FIGURES=$(CURDIR)/.cache/scale-partitions.jsonl \
		go test -count=1 -timeout 60m -parallel 2 ./integration -run 'TestScalePartition|TestScaleResize'
	go run ./tools/faulttable .cache/scale-partitions.jsonl docs/scale.md scale-partitions scale-partitions

partitions: ## what 1 to 16 partitions cost on one server and on a server each, and the rate of 1, 2 and 4 primaries, into docs/scale.md (a quarter of an hour)
	WORK_PARTITIONS_LONG=1 WORK_PARTITIONS_FIGURES=$(CURDIR)/docs/scale.md WORK_REQUIRE_REDIS=1 \
		go test -count=1 -v -timeout 60m -run 'TestWhatPartitionsCost|TestRateGrowsWithPrimaries' ./integration

keys: ## what jobs with 1 to 1,000,000 keys and with rules of keys cost, into docs/performance.md (fifteen minutes)
	WORK_KEYS_LONG=1 WORK_KEYS_FIGURES=$(CURDIR)/docs/performance.md WORK_REQUIRE_REDIS=1 \
		go test -count=1 -v -timeout 60m -run TestWhatKeysCost ./integration

answers: ## a proxy that answers for 3 s each with words of providers and proxies, before 300 jobs without retries (two minutes)
	WORK_ANSWERS_LONG=1 WORK_REQUIRE_REDIS=1 go test -count=1 -v -timeout 20m -run TestForeignAnswersCostNoJob ./integration

flows: ## what members of flows cost beside 1,000,000 plain jobs (ten minutes)
	FLOW_MEASURE=1000000 WORK_REQUIRE_REDIS=1 go test -count=1 -v -timeout 60m -run TestMeasureFlows ./flow

steps: ## what steps, sleeps and messages cost beside jobs without, into docs/steps.md (two minutes)
	WORK_STEPS_LONG=1 WORK_STEPS_FIGURES=$(CURDIR)/docs/steps.md WORK_REQUIRE_REDIS=1 \
		go test -count=1 -v -timeout 60m -run TestWhatStepsCost ./integration

rights: ## one command taken from the user of all programs for 3 s under load: acknowledged jobs lost, done twice, left behind (a minute)
	WORK_RIGHTS_LONG=1 WORK_REQUIRE_REDIS=1 go test -count=1 -v -timeout 30m -run TestRightsTakenOffUnderLoad ./integration

replicas: ## jobs per second with and without WaitReplicas, a replica 100 ms behind, into docs/scale.md (two minutes)
	WORK_REPLICAS_LONG=1 WORK_REPLICAS_FIGURES=$(CURDIR)/docs/scale.md WORK_REQUIRE_REDIS=1 \
		go test -count=1 -v -timeout 30m -run TestWhatWaitReplicasCosts ./integration

coming-over: ## work migrate beside asynq and gocraft/work under load, killed 300 times each, and how fast it is, into docs/coming-over.md (three minutes)
	WORK_COMING_LONG=1 WORK_COMING_FIGURES=$(CURDIR)/docs/coming-over.md WORK_REQUIRE_REDIS=1 \
		go test -count=1 -v -timeout 30m -run 'TestJobsRunOnceWhileTheBridgeIsKilled|TestHowFastJobsComeOver' ./bench/comingover

partitions-model: ## programs, workers and dying movers on partitions that come and go, against a ledger: 300 runs (ten minutes)
	WORK_PARTITION_MODEL=300 WORK_REQUIRE_REDIS=1 \
		go test -count=1 -timeout 60m -run TestModelOfPartitions ./internal/resize

partitions-faults: ## all faults on a namespace of four partitions, on one server and on a cluster (ten minutes)
	WORK_FAULT_PARTITIONS=4 WORK_REQUIRE_REDIS=1 go test -count=1 -timeout 60m -run 'TestFault' ./integration
	WORK_FAULT_PARTITIONS=4 WORK_FAULT_DRIVER=cluster WORK_TEST_CLUSTER=1 WORK_REQUIRE_REDIS=1 \
		go test -count=1 -timeout 60m -run 'TestFault' ./integration

drivers-long: ## all tests of internal/rdb and all faults with a client of go-redis, of one server and of a cluster (ten minutes)
	WORK_DRIVERS_LONG=1 WORK_REQUIRE_REDIS=1 go test -count=1 -timeout 60m -run TestRdbOnGoRedisLong ./goredis
	WORK_DRIVERS_LONG=1 WORK_REQUIRE_REDIS=1 go test -count=1 -timeout 60m -run TestDriversFaults ./integration

servers: ## the scripts' tests on each server in the folders of .cache/servers, or of SERVERS, into docs/compatibility.md (minutes for each)
	scripts/servers $(SERVERS) docs/compatibility.md

bench-table: ## all scenarios, also beside gocraft/work (GOCRAFT=a checkout), into docs/performance.md (12 minutes)
	$(if $(GOCRAFT),scripts/bench-peers $(GOCRAFT),cd bench && go run .) --quick --rounds 2 --write ../docs/performance.md $(BENCH_FLAGS)

drivers-bench: ## clients of Redis below this library, side by side, into docs/performance.md (a quarter of an hour)
	cd bench && go run . --drivers --quick --rounds 7 --write ../docs/performance.md

models-long: ## random requests about jobs, with keys and without, and about flows, against models of them: 1,000 runs each on both Redis (about ten minutes)
	WORK_MODELS_LONG=1 WORK_REQUIRE_REDIS=1 \
		go test -count=1 -timeout 120m -v -run 'TestModelO' ./internal/rdb -rapid.checks=1000
	FLOW_ROUNDS=1000 WORK_REQUIRE_REDIS=1 go test -count=1 -timeout 60m -run TestFlowsDoWhatTheRulesSay ./flow

races-long: ## 1,000 rounds of each control by hand against fetch, settle, due and reap (a few minutes)
	WORK_RACES_LONG=1 WORK_REQUIRE_REDIS=1 \
		go test -count=1 -timeout 30m -run TestControlsAgainstFetchSettleDueAndReap ./inspect

rates-long: ## how much of its rate a worker reaches, over rates, bursts, workers, handlers and neighbours (half an hour)
	WORK_RATES_LONG=1 WORK_RATES_FIGURES=$(CURDIR)/docs/limits.md WORK_REQUIRE_REDIS=1 \
		go test -count=1 -timeout 60m -run 'TestRatesAreReached|TestARateIsReachedOverASlowLink' ./internal/enginetest/limits
	WORK_RATES_LONG=1 WORK_REQUIRE_REDIS=1 \
		go test -count=1 -timeout 30m -run TestEveryRateLetsBeginWhatExactArithmeticLets ./internal/rdb

cron-long: ## ticks of 1,000 specs in 200 zones, 54 in each, of both kinds of zone data, against a walk over all minutes up to 2045 (a quarter of an hour)
	WORK_CRON_LONG=1 WORK_REQUIRE_REDIS=1 \
		go test -count=1 -timeout 2h -run TestTicksAreThoseOfAWalk ./internal/schedule

reads-long: ## what Redis spends on each read over 4 x 1,000,000 jobs (2 GB, a few minutes), into docs/performance.md
	WORK_READS_LONG=1 WORK_READS_FIGURES=$(CURDIR)/docs/performance.md WORK_REQUIRE_REDIS=1 \
		go test -count=1 -timeout 30m -run TestReadsCostThePageAndNotTheJobs ./inspect

names-long: ## start and stop with 10,000 names, round trips of all that is done about them, and what their history costs (two minutes)
	WORK_NAMES_LONG=1 WORK_REQUIRE_REDIS=1 \
		go test -count=1 -v -timeout 30m -run 'TestAPoolOfTenThousandNames|TestWhatHistoryCosts|TestRoundTripsDoNotGrowWithNames' ./internal/enginetest/growth ./internal/history

pages-long: ## the same of each page of the dashboard, into docs/dashboard.md
	WORK_PAGES_LONG=1 WORK_PAGES_FIGURES=$(CURDIR)/docs/dashboard.md WORK_REQUIRE_REDIS=1 \
		go test -count=1 -timeout 30m -run TestPagesCostNoMoreWhereMoreJobsAre ./webui

search-long: ## a search of the dashboard through 1,000,000 jobs: first hit, end, the longest call of Redis, and other pages meanwhile (a minute)
	WORK_SEARCH_LONG=1 WORK_REQUIRE_REDIS=1 \
		go test -v -count=1 -timeout 30m -run TestASearchThroughManyJobsLeavesRoomForOthers ./webui

crashes-long: ## 25 million simulated jobs under kills, 40 seeds: none that is innocent is buried (a few minutes)
	WORK_CRASHES_LONG=1 \
		go test -v -count=1 -timeout 30m -run 'TestInnocentJobsOutliveKills|TestADeadlyJobIsBuriedSoon' ./internal/crash

doctor-long: ## examine 1,000,000 jobs, with a limit and without, and say how long that takes (a few minutes)
	WORK_DOCTOR_LONG=1 WORK_REQUIRE_REDIS=1 \
		go test -v -count=1 -timeout 30m -run TestTheDoctorReadsNoMoreThanItsLimit ./inspect/doctor

fleet-long: ## what 1,000, 2,000 and 10,000 idle workers cost Redis, into docs/performance.md (minutes, on a machine that does little else)
	WORK_FLEET_LONG=1 WORK_FLEET_FIGURES=$(CURDIR)/docs/performance.md WORK_REQUIRE_REDIS=1 \
		go test -count=1 -timeout 30m -v -run TestAFleetCostsRedisInProportion ./internal/enginetest/growth

due-long: ## 500,000 jobs that are due within one second: what becomes of the live jobs of other names meanwhile (a minute)
	WORK_DUE_LONG=1 WORK_REQUIRE_REDIS=1 \
		go test -count=1 -v -timeout 30m -run TestWhatIsDueAtOnceLeavesLiveJobsTheirShare ./internal/enginetest/schedules

oidc: ## log people in through oauth2-proxy at a provider of OpenID Connect (minutes the first time, which build oauth2-proxy)
	cd webui/oidctest && GOWORK=off go test -count=1 -v .

pictures: ## the pictures of docs/dashboard.md, by a browser
	WORK_PICTURES=$(CURDIR)/docs/dashboard WORK_REQUIRE_BROWSER=1 \
		go test -count=1 -run TestPicturesForTheGuide ./browsertest

book: ## make a site of docs/ in .cache/book, and check all links
	go run ./tools/book -out .cache/book

release: ## check everything, write the changelog and tag VERSION in all modules; it says how to push that
	go run ./tools/release cut $(VERSION)

image: ## make sure that Docker has the Redis image for the tests
	scripts/redis-image

ci: ## everything that CI runs
	.ci/run

clean: ## remove what the targets above wrote
	rm -rf bin .cache cover.out *.prof *.test
