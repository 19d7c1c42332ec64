package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// Limit is how many jobs of one name may run, over all workers of the namespace. The zero value is no limit.
//
// A rate is a bucket of Burst that is filled evenly: in any time d no more than Burst + d*Rate/Per begin.
type Limit struct {
	Concurrent int           // at once; 0 is not limited
	Rate       int           // how many may begin in each Per; 0 is not limited
	Per        time.Duration // at least a millisecond, at most a year; needed with Rate, and only then
	Burst      int           // how many may begin one right after the other; 0 is what the rate gives in 100 ms, at least 1
}

// MarshalJSON writes Per as [time.Duration] prints it, and leaves out what is not limited.
func (l Limit) MarshalJSON() ([]byte, error) {
	per := ""
	if l.Per != 0 {
		per = l.Per.String()
	}
	return json.Marshal(struct {
		Concurrent int    `json:"concurrent,omitzero"`
		Rate       int    `json:"rate,omitzero"`
		Per        string `json:"per,omitzero"`
		Burst      int    `json:"burst,omitzero"`
	}{l.Concurrent, l.Rate, per, l.Burst})
}

// The bounds of a Limit.
const (
	maxLimit     = 1_000_000_000
	maxRatePer   = 366 * 24 * time.Hour
	burstDefault = 100 * time.Millisecond
)

// LimitError says what is wrong with a [Limit].
type LimitError struct {
	Name  string // of the job
	Limit Limit
	Why   string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the limit of job %s cannot be: %s", quoted(e.Name), e.Why)
}

// check returns a *LimitError for a limit that cannot be.
func (l Limit) check(name string) error {
	why := ""
	switch {
	case l.Concurrent < 0 || l.Concurrent > maxLimit:
		why = fmt.Sprintf("Concurrent is %d: give 1 to 1,000,000,000, or 0 for no limit; to let none run, pause the queue", l.Concurrent)
	case l.Rate < 0 || l.Rate > maxLimit:
		why = fmt.Sprintf("Rate is %d: give 1 to 1,000,000,000, or 0 for no limit", l.Rate)
	case l.Burst < 0 || l.Burst > maxLimit:
		why = fmt.Sprintf("Burst is %d: give 1 to 1,000,000,000, or 0 for what the rate gives in 100 ms", l.Burst)
	case l.Rate > 0 && (l.Per < time.Millisecond || l.Per > maxRatePer):
		why = fmt.Sprintf("Per is %s: a Rate needs the time in which so many may begin, 1 ms to 366 days", l.Per)
	case l.Rate == 0 && (l.Per != 0 || l.Burst != 0):
		why = "it has Per or Burst and no Rate: give a Rate, or leave them out"
	}
	if why == "" {
		return nil
	}
	return &LimitError{Name: name, Limit: l, Why: why}
}

// stored is the limit as Redis has it.
func (l Limit) stored() rdb.Limit {
	if l.Rate == 0 {
		return rdb.Limit{Concurrent: l.Concurrent}
	}
	burst := l.Burst
	if burst == 0 {
		burst = max(1, int(float64(l.Rate)*float64(burstDefault)/float64(l.Per)))
	}
	return rdb.Limit{Concurrent: l.Concurrent, Jobs: l.Rate, Per: l.Per, Burst: burst}
}

func limitOf(stored rdb.Limit) Limit {
	return Limit{Concurrent: stored.Concurrent, Rate: stored.Jobs, Per: stored.Per, Burst: stored.Burst}
}

// changeRule changes the rule of a queue, again if it was changed by others meanwhile. A limit on what runs is in force
// once what runs is counted.
func changeRule(ctx context.Context, store *rdb.Store, name string, change func(*rdb.Rule)) (before rdb.Rule, err error) {
	for range rereads(ctx) {
		text, err := store.RuleOf(ctx, name)
		if err != nil {
			return rdb.Rule{}, err
		}
		before, err := rdb.ParseRule(text)
		if err != nil {
			return rdb.Rule{}, err
		}
		after := before
		change(&after)
		if after.Concurrent == 0 {
			after.Filling = ""
		}
		anew := after.Concurrent > 0 && before.Concurrent == 0
		if anew {
			after.Filling = randomHex(8)
		}
		done, err := store.SetRule(ctx, name, text, after.Text(), anew)
		if err != nil {
			return rdb.Rule{}, err
		}
		if done {
			return before, fillRule(ctx, store, name, after.Filling)
		}
	}
	return rdb.Rule{}, errRuleContended
}

var errRuleContended = fmt.Errorf("its rule was changed by others %d times in a row: try again", maxRereads)

// fillRule counts what runs, and puts the limit into force. Several may do so at once: each counts all there is. Without a
// filling there is nothing to do.
func fillRule(ctx context.Context, store *rdb.Store, name, filling string) error {
	if filling == "" {
		return nil
	}
	if err := store.Fill(ctx, name); err != nil {
		return fmt.Errorf("what runs could not be counted, so that none begins until it is, by the janitor of a worker: %w", err)
	}
	for range rereads(ctx) {
		text, err := store.RuleOf(ctx, name)
		if err != nil {
			return err
		}
		rule, err := rdb.ParseRule(text)
		if err != nil || rule.Filling != filling { // somebody else was faster, or has set another limit
			return err
		}
		rule.Filling = ""
		if done, err := store.SetRule(ctx, name, text, rule.Text(), false); done || err != nil {
			return err
		}
	}
	return errRuleContended
}

// declareLimits makes the limits in Redis those that the code declares, where no operator has set others. Where two services
// declare one name the later start wins, and an event tells so; a start that declares none takes away only what its own
// service has declared.
func (p *WorkerPool) declareLimits(ctx context.Context) error {
	var failed error
	for name, registration := range p.registered {
		if p.served[name] == nil && registration.away.Load() {
			continue
		}
		if err := p.declareLimit(ctx, name, registration.options.Limit); err != nil {
			failed = errors.Join(failed, fmt.Errorf("the limit of job %s cannot be declared: %w", quoted(name), err))
		}
	}
	return failed
}

func (p *WorkerPool) declareLimit(ctx context.Context, name string, limit Limit) error {
	declared, service := limit.stored(), p.service()
	if limit == (Limit{}) && !p.declaredBefore(ctx, name) {
		return nil
	}
	before, err := changeRule(ctx, p.store, name, func(rule *rdb.Rule) {
		switch {
		case limit != (Limit{}):
			rule.Service, rule.Code = service, declared
		case rule.Service == service:
			rule.Service, rule.Code = "", rdb.Limit{}
		}
		if !rule.Operator {
			rule.Limit = rule.Code
		}
	})
	if err != nil {
		return err
	}
	if limit != (Limit{}) && before.Service != "" && before.Code != declared {
		p.events.emit(LimitChanged{
			Name: name, Limit: limitOf(declared), Service: service, Former: limitOf(before.Code), FormerService: before.Service,
		})
	}
	return nil
}

// declaredBefore tells whether this service has declared a limit that it may have to take away.
func (p *WorkerPool) declaredBefore(ctx context.Context, name string) bool {
	text, err := p.store.RuleOf(ctx, name)
	rule, unreadable := rdb.ParseRule(text)
	return err != nil || unreadable == nil && rule.Service == p.service()
}

// declareAgain declares the limits once more after Redis has lost its data.
func (p *WorkerPool) declareAgain(ctx context.Context) error {
	if !p.undeclared.Load() {
		return nil
	}
	if err := p.declareLimits(ctx); err != nil {
		return err
	}
	p.undeclared.Store(false)
	return nil
}
