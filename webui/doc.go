// Package webui is the dashboard of a namespace: an [http.Handler] that shows its queues, jobs, workers and schedules,
// and lets operators act on them.
//
//	inspector, err := inspect.New("redis://localhost:6379/0", work.Namespace("shop"))
//	...
//	http.Handle("/jobs/", http.StripPrefix("/jobs", webui.Handler(inspector, webui.Options{Authorize: staff})))
//
// # Any prefix
//
// Every page is one step below the prefix and every link is relative, so the handler needs not be told where it is
// mounted: use [http.StripPrefix], a proxy that strips, or nothing.
//
// # Who may what
//
// Options.Authorize decides for each request: [RoleViewer] reads, [RoleOperator] acts too. Without it nobody gets in.
// [TokenAuth] and [BasicAuth] are ways to do it; where a request comes from is none, since behind a proxy that may be
// this machine for everybody. Options.ReadOnly takes all actions away, whoever asks.
//
// Actions are POST requests and nothing else is; those that another site made a browser send are refused. Each attempt
// is logged and told to Options.Audit, the refused ones too. Pages load nothing from elsewhere, run no script but the
// one that comes with them, and cannot be framed; names, ids, args and errors are shown as text whatever they contain.
//
// # The API
//
// Below /api/ programs get as JSON what the pages show, do what they do, and enqueue jobs where Options.Enqueuer is
// given. It is described in OpenAPI at /api/openapi.json, and in docs/api.md.
//
// # What it costs
//
// A page asks Redis for what it shows: a page of jobs costs the same however many there are. A search looks at 2,000
// records per page, the examination by the doctor and actions on all jobs that match read all of them, step by step,
// and end with the request that began them. While somebody has a page open one reader for all of them asks every two
// seconds for what is live. Streams end with their requests, so give the [http.Server] a BaseContext that ends before
// its Shutdown.
//
// Without JavaScript everything can be read and done; pages are then as of their loading.
package webui
