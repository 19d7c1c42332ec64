package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// Declaration is the limits that the code of one service says. Where two services declare one name the later start
// wins, and Replaced is told; a service that declares none takes away only what it has declared itself.
type Declaration struct {
	Store    *rdb.Store
	Service  string
	Limit    func(name string) rdb.Limit // of a job; the zero value is none
	Replaced func(name string, now, before rdb.Rule)
	// of each key of a job; the zero value is none. nil declares none and takes none away
	Keys    func(name string) rdb.KeyRule
	Missing bool // only where no code declares one: nothing is replaced, and nothing taken away
}

// Declare makes the limits of names in Redis those that the code says, where no operator has set others.
func (d *Declaration) Declare(ctx context.Context, names []string) error {
	c := Change{Store: d.Store, Apply: d.apply, Changed: d.changed, Failure: d.failure}
	var keys error
	var declaring sync.WaitGroup // beside the others: they stand elsewhere
	declaring.Go(func() { keys = d.declareKeys(ctx, names) })
	err := c.Run(ctx, names)
	declaring.Wait()
	return excerpt.Join(err, keys)
}

func (d *Declaration) apply(name string, rule *rdb.Rule) {
	switch limit := d.Limit(name); {
	case d.Missing && rule.Service != "" && !leaves(rule):
		return
	case limit != rdb.Limit{}:
		rule.Service, rule.Code = d.Service, limit
	case rule.Service != d.Service: // another service's
		return
	default:
		rule.Service, rule.Code = "", rdb.Limit{}
	}
	if !rule.Operator {
		rule.Limit = rule.Code
	}
}

func (d *Declaration) changed(name string, before rdb.Rule) {
	if limit := d.Limit(name); !d.Missing && limit != (rdb.Limit{}) && before.Service != "" && before.Code != limit {
		d.Replaced(name, rdb.Rule{Service: d.Service, Code: limit}, before)
	}
}

// failure says why a limit is not declared. A rule that this version cannot read is not of this service: that matters
// only where there is a limit to declare.
func (d *Declaration) failure(name string, err error) error {
	var unreadable *rdb.RuleError
	if d.Limit(name) == (rdb.Limit{}) && errors.As(err, &unreadable) {
		return nil
	}
	return fmt.Errorf("the limit of job %s cannot be declared: %w", excerpt.Brief(name), err)
}
