package work

import (
	"context"
	"errors"
	"fmt"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
)

// declareLimits makes the limits in Redis those that the code declares, where no operator has set others. Where two
// services declare one name the later start wins, and an event tells so; a start that declares none takes away only
// what its own service has declared.
func (p *WorkerPool) declareLimits(ctx context.Context) error {
	var names []string
	for name, registration := range p.registered {
		if p.served[name] != nil || !registration.away.Load() {
			names = append(names, name)
		}
	}
	return p.declareLimitsOf(ctx, names)
}

// declareLimitsOf declares the limits of some names.
func (p *WorkerPool) declareLimitsOf(ctx context.Context, names []string) error {
	service := p.service()
	declared := func(name string) rdb.Limit { return p.registered[name].options.Limit.stored() }
	c := ruleChanger{store: p.store,
		change: func(name string, rule *rdb.Rule) {
			switch {
			case declared(name) != rdb.Limit{}:
				rule.Service, rule.Code = service, declared(name)
			case rule.Service != service: // it is no matter of this pool
				return
			default:
				rule.Service, rule.Code = "", rdb.Limit{}
			}
			if !rule.Operator {
				rule.Limit = rule.Code
			}
		},
		changed: func(name string, before rdb.Rule) {
			if limit := declared(name); limit != (rdb.Limit{}) && before.Service != "" && before.Code != limit {
				p.events.emit(event.LimitChanged{Name: name, Limit: limitOf(limit).String(), Service: service,
					Former: limitOf(before.Code).String(), FormerService: before.Service})
			}
		},
		failure: func(name string, err error) error {
			var unreadable *rdb.RuleError
			// nothing that can be read is of this service
			if declared(name) == (rdb.Limit{}) && errors.As(err, &unreadable) {
				return nil
			}
			return fmt.Errorf("the limit of job %s cannot be declared: %w", quoted(name), err)
		},
	}
	return c.run(ctx, names)
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
