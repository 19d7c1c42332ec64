package work

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// periodic is what one call of Periodic asked for.
type periodic struct {
	*schedule
	site string // where
}

// Periodic enqueues a job of that name at each tick of spec: five fields of cron or six with seconds in front, a
// descriptor such as @daily, either with CRON_TZ=Europe/Berlin in front, or @every and a duration, which counts from
// Unix 0. Without a time zone it is UTC. Each tick is enqueued once, however many workers run, at the clock of Redis.
// The schedule stays when all workers stop; it goes when a worker of the same Service starts that does not declare it,
// and none that runs does.
//
// Mistakes are returned by Start: a name that the pool does not register, args that its handler could not take.
func (p *WorkerPool) Periodic(spec, name string, args ...any) *WorkerPool {
	return p.addPeriodic(wish{spec, name, PeriodicOptions{}, args}, caller())
}

// PeriodicWithOptions is [WorkerPool.Periodic] with options. Several schedules of one job need an ID each.
func (p *WorkerPool) PeriodicWithOptions(spec, name string, opts PeriodicOptions, args ...any) *WorkerPool {
	return p.addPeriodic(wish{spec, name, opts, args}, caller())
}

func (p *WorkerPool) addPeriodic(w wish, site string) *WorkerPool {
	if p.tooLate("the schedule of job "+quoted(w.name), site) {
		return p
	}
	maxArgs := p.options.MaxArgsSize
	if maxArgs <= 0 { // what is negative is reported as that
		maxArgs = defaultMaxArgsSize
	}
	made, mistakes := newSchedule(w, maxArgs)
	added := periodic{schedule: made, site: site}
	for _, err := range mistakes {
		p.note(fmt.Errorf("%s: %w", added.called(), err))
	}
	for _, other := range p.periodics {
		if other.id == made.id && len(mistakes) == 0 {
			p.note(other.conflict(added))
			return p
		}
	}
	p.periodics = append(p.periodics, added)
	return p
}

// called is how an error names it.
func (p periodic) called() string {
	return fmt.Sprintf("schedule %s (added at %s)", quoted(p.id), p.site)
}

// conflict is nil for the same schedule once more.
func (p periodic) conflict(other periodic) error {
	if string(p.definition.text()) == string(other.definition.text()) {
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
		name := one.definition.Name
		if validateName(name) != nil {
			continue // that was found before
		}
		if p.registered[name] == nil {
			mistakes = append(mistakes, &InvalidError{
				What: one.called(), Value: "of job " + quoted(name),
				Remedy: "no such job is registered: add the schedule to the pool that runs it; there are " + known(),
			})
			continue
		}
		if one.definition.Args == nil {
			continue // they were found wrong before
		}
		if err := p.checkArgs(name, one.definition.Args); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: args of job %s do not fit its handler: %w", one.called(),
				quoted(name), err))
		}
	}
	return mistakes
}

// defaultService begins the name of a service that was not given one.
const defaultService = "default:"

// service is the one that this pool belongs to: the one it was given, or one that is made of the names that it serves.
func (p *WorkerPool) service() string { return p.belongs }

// serviceOf is the name of a service that has none, which is made of the names that it serves at its start.
func serviceOf(served map[string]*registration) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(served)), "\x00")))
	return defaultService + hex.EncodeToString(sum[:8])
}

// validateService refuses what cannot be the name of a service.
func validateService(name string) error {
	if name == "" {
		return nil
	}
	err := validateWord("WorkerOptions.Service", name, maxNameBytes)
	if err == nil && strings.HasPrefix(name, defaultService) {
		err = &InvalidError{What: "WorkerOptions.Service", Value: quoted(name),
			Remedy: "use one that does not begin with " + defaultService}
	}
	return err
}

// Errors of schedules that a program may test for with errors.Is.
var (
	// ErrNoSchedule is returned where a schedule of that id is needed and there is none.
	ErrNoSchedule = errors.New("there is no such schedule")
	// ErrScheduleExists is returned when a schedule is added whose id is taken.
	ErrScheduleExists = errors.New("there is a schedule of that id already")
)
