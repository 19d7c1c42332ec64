package work

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/schedule"
)

// scheduleRequest is a schedule as a program asks for it.
type scheduleRequest struct {
	spec, name string
	opts       PeriodicOptions
	args       []any
}

// schedule checks what is asked for. maxArgs bounds the JSON of the args.
func (r scheduleRequest) schedule(maxArgs int) (*schedule.Schedule, []error) {
	made, mistakes := schedule.New(schedule.Wanted{
		ID: r.opts.ID, Spec: r.spec, TZ: r.opts.TZ, Name: r.name, Jitter: r.opts.Jitter, Missed: int(r.opts.Missed),
		Overlap: int(r.opts.Overlap), Turn: rdb.Turn{Key: r.opts.Key, Weight: r.opts.Weight},
		Needs: r.opts.Needs,
		Args:  func() (json.RawMessage, error) { return jobargs.EncodeAll(nil, r.name, r.args, maxArgs) },
	})
	for i := range mistakes {
		mistakes[i] = asInvalid(mistakes[i])
	}
	return made, mistakes
}

// Periodic enqueues a job of that name at each tick of spec: five fields of cron or six with seconds in front, a
// descriptor such as @daily, either with CRON_TZ=Europe/Berlin in front, or @every and a duration, which counts from
// Unix 0. Without a time zone it is UTC. Each tick is enqueued once, however many workers run, at the clock of Redis.
// The schedule stays when all workers stop; it goes when a worker of the same Service starts that does not declare it,
// and none that runs does.
//
// Mistakes are returned by Start: a name that the pool does not register, args that its handler could not take.
func (p *WorkerPool) Periodic(spec, name string, args ...any) *WorkerPool {
	return p.addPeriodic(scheduleRequest{spec, name, PeriodicOptions{}, args}, caller())
}

// PeriodicWithOptions is [WorkerPool.Periodic] with options. Several schedules of one job need an ID each.
func (p *WorkerPool) PeriodicWithOptions(spec, name string, opts PeriodicOptions, args ...any) *WorkerPool {
	return p.addPeriodic(scheduleRequest{spec, name, opts, args}, caller())
}

// addPeriodic notes mistakes for Start, as register does. Whether the job is registered is asked there too, since it
// may be registered after its schedule.
func (p *WorkerPool) addPeriodic(r scheduleRequest, site string) *WorkerPool {
	if p.tooLate("the schedule of job "+excerpt.Brief(r.name), site) {
		return p
	}
	maxArgs := p.options.MaxArgsSize
	if maxArgs <= 0 { // what is negative is reported as that
		maxArgs = jobargs.DefaultInRecord
	}
	made, mistakes := r.schedule(maxArgs)
	added := periodic{Schedule: made, site: site}
	for _, err := range mistakes {
		p.note(fmt.Errorf("%s: %w", added.called(), err))
	}
	for _, other := range p.periodics {
		if other.ID == made.ID && len(mistakes) == 0 {
			p.note(other.conflict(added))
			return p
		}
	}
	p.periodics = append(p.periodics, added)
	return p
}

// conflict is nil for the same schedule once more.
func (p periodic) conflict(other periodic) error {
	if string(p.Definition.Text()) == string(other.Definition.Text()) {
		return nil
	}
	return &InvalidError{
		What: other.called(), Value: "another one than that of the same id at " + p.site,
		Remedy: "give each an ID of its own with PeriodicWithOptions",
	}
}

// checkPeriodics looks at what can be known once all handlers are registered.
func (p *WorkerPool) checkPeriodics() []error {
	known := sync.OnceValue(p.registeredNames)
	var mistakes []error
	for _, one := range p.periodics {
		name := one.Definition.Name
		if validateName(name) != nil {
			continue // that was found before
		}
		if p.registered[name] == nil {
			mistakes = append(mistakes, unregistered(one.called(), "of job "+excerpt.Brief(name),
				": add the schedule to the pool that runs it", known))
			continue
		}
		if one.Definition.Args == nil {
			continue // they were found wrong before
		}
		if err := p.registered[name].codecs.CheckSchedule(name, one.Definition.Args); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", one.called(), asInvalid(err)))
		}
		if err := p.checkArgs(name, one.Definition.Args); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: args of job %s do not fit its handler: %w", one.called(),
				excerpt.Brief(name), err))
		}
	}
	return mistakes
}

// startSchedules makes the schedules in a partition those that the pool declares there, by its first worker in it,
// which is registered. That goes on where others still declare what is no longer wanted.
func (p *WorkerPool) startSchedules(ctx context.Context, first *worker) error {
	s := first.site
	if err := p.byMap(ctx, func() error { return s.declared().Declare(ctx) }); err != nil {
		return asInvalid(err)
	}
	pending, err := s.declared().Withdraw(ctx)
	// what fails here is tried again, and told there
	first.daemons.periodic.Undeclared(pending || err != nil, time.Now())
	return nil
}

// serviceOf is the name of a service that has none, which is made of the names that it serves at its start.
func serviceOf(served map[string]*registration) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(served)), "\x00")))
	return schedule.DefaultService + hex.EncodeToString(sum[:8])
}
