package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/265d0351/work"
	_ "github.com/265d0351/work/embedded"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/metrics"
)

func Example() {
	ctx := context.Background()
	recorder := metrics.New(metrics.Options{})
	pool := work.NewWorkerPool(nil, 4, work.WorkerOptions{
		Redis: "memory://example-metrics", Logger: slog.New(slog.DiscardHandler), Observers: []work.Observer{recorder},
	}).
		Job("mail", func() error { return nil }).
		Job("export", func() error { return work.Bury(errors.New("no such table")) })

	registry := prometheus.NewRegistry()
	registry.MustRegister(recorder, metrics.Fleet(inspect.Of(pool), metrics.FleetOptions{}))
	// a program has http.Handle("/metrics", ...)
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()

	for _, name := range []string{"mail", "mail", "export"} {
		if _, err := pool.Enqueuer().Enqueue(ctx, name); err != nil {
			log.Fatal(err)
		}
	}
	if err := errors.Join(pool.Start(ctx), pool.Drain(ctx)); err != nil {
		log.Fatal(err)
	}
	printSeries(server.URL, `work_job_outcomes_total{name="export",outcome="buried"}`,
		`work_job_outcomes_total{name="mail",outcome="done"}`,
		`work_job_run_seconds_count{name="mail"}`, "work_fleet_up", `work_fleet_jobs{state="dead"}`,
		"work_fleet_processors ")
	if err := pool.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// work_fleet_jobs{state="dead"} 1
	// work_fleet_processors 4
	// work_fleet_up 1
	// work_job_outcomes_total{name="export",outcome="buried"} 1
	// work_job_outcomes_total{name="mail",outcome="done"} 2
	// work_job_run_seconds_count{name="mail"} 2
}

// One program with pools of two namespaces: a label tells them apart.
func ExampleFleet() {
	registry := prometheus.NewRegistry()
	for _, namespace := range []string{"shop", "archive"} {
		inspector, err := inspect.New("memory://example-fleet", work.Namespace(namespace))
		if err != nil {
			log.Fatal(err)
		}
		defer inspector.Close() //lint:ignore errcheck nothing is lost
		prometheus.WrapRegistererWith(prometheus.Labels{"fleet": namespace}, registry).
			MustRegister(metrics.Fleet(inspector, metrics.FleetOptions{}))
	}
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	printSeries(server.URL, "work_fleet_up")
	// Output:
	// work_fleet_up{fleet="archive"} 1
	// work_fleet_up{fleet="shop"} 1
}

// printSeries prints the lines of a scrape that begin so.
func printSeries(url string, begins ...string) {
	response, err := http.Get(url)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close() //lint:ignore errcheck it was read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		for _, begin := range begins {
			if strings.HasPrefix(line, begin) {
				fmt.Print(line)
			}
		}
	}
}
