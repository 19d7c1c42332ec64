package work

// Twin returns another pool with the prototype, the concurrency, the middleware and the jobs of p, and options of its
// own: none of p's are taken over, and its schedules are not. It is not started, and what becomes of one pool does not
// concern the other. It is meant for tests, which run a program's jobs on a Redis of theirs (see package worktest).
//
// What is registered with p later is not in the twin. Mistakes of p's set-up are mistakes of the twin, except those of
// p's options. It may be called whatever the state of p, but not while another goroutine sets p up.
func (p *WorkerPool) Twin(opts WorkerOptions) *WorkerPool {
	twin := NewWorkerPool(nil, p.concurrency, opts)
	twin.prototype = p.prototype
	twin.middlewares = append(twin.middlewares, p.middlewares...)
	known := map[string]bool{}
	for _, err := range append(p.options.validate(), twin.mistakes...) {
		known[err.Error()] = true
	}
	for _, err := range p.mistakes {
		if !known[err.Error()] {
			twin.mistakes = append(twin.mistakes, err)
		}
	}
	for name, r := range p.registered { // without what a start adds to them
		twin.registered[name] = &registration{name: r.name, site: r.site, handler: r.handler, options: r.options,
			labels: r.labels}
	}
	return twin
}
