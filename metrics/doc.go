// Package metrics has the metrics of job processing for Prometheus.
//
//	recorder := metrics.New(metrics.Options{})
//	pool := work.NewWorkerPool(nil, 15, work.WorkerOptions{Observers: []work.Observer{recorder}})
//	registry.MustRegister(recorder, metrics.Fleet(inspect.Of(pool), metrics.FleetOptions{}))
//	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// There are two kinds, and docs/metrics.md has a table of both:
//
//   - A [Recorder] counts what happens in the pools of this process. Each process has its own, and they add up.
//   - [Fleet] reads from Redis what there is in the whole namespace: queues, workers, processors. Each process that
//     exports it shows the same, so that queries take the maximum and not the sum.
//
// # Names are bounded
//
// A series in Prometheus costs memory for hours, and who enqueues a job chooses its name. So only [Options].Names names
// have a label of their own; all others are counted together under [Other].
//
// # Several pools, several namespaces
//
// One Recorder may observe any number of pools. Where they are to be told apart, or there are Fleets of several
// namespaces, each gets a label of its own by prometheus.WrapRegistererWith:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"fleet": "shop"}, registry).MustRegister(recorder, fleet)
//
// # Cost
//
// A job adds to two histograms and one counter, in memory; nothing per job goes to Redis. A scrape of a Fleet is a
// handful of round trips, whose cost grows with the number of queues, workers and running jobs and not with how many
// jobs wait. A name has 47 series in a Recorder and 9 in a Fleet, with the default buckets.
package metrics
