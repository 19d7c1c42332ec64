package flowdb

import (
	"context"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

var advanceScript = redisconn.Load("flow/advance")

// advanceKeys are those of it behind the flow's: special members are put there.
var advanceKeys = []string{"unique", "scheduled", "names", "turns", "passes", "turning", "keyed"}

// maxQueues is how many queues one step of a flow is given.
const maxQueues = 64

// Step is what a step of a flow has left.
type Step struct {
	Left       bool     // something is to be done still
	Cancelling bool     // all that is left to be done is that its members are told of its cancellation
	Missing    []string // queues that were needed and not given
}

// Advance does a step of what is to be done about a flow. Anyone may call it, again and again. Queues are named as a
// former step has told that it needs them.
func (f Flows) Advance(ctx context.Context, id string, queues []string) (step Step, err error) {
	keys, args := f.keys(id), []any{id, false}
	for _, name := range advanceKeys {
		keys = append(keys, f.store.Key(name))
	}
	for _, name := range queues[:min(len(queues), maxQueues)] {
		queue, isSpecial := strings.CutPrefix(name, special)
		if isSpecial {
			args[1] = true
		}
		if queue != "" {
			keys, args = f.store.QueueKeys(keys, queue), append(args, name)
		}
	}
	value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Script: advanceScript, Keys: keys, Args: args})
	if err != nil {
		return step, err
	}
	r := redisconn.Read(advanceScript.Name, value)
	left, ended := r.Number(), r.Text()
	step.Left, step.Cancelling = left > 0, left == 2
	if ended != "" {
		if _, err := f.store.FlowEnded(advanceScript.Name, "\n"+ended); err != nil {
			return step, err
		}
	}
	for r.More() {
		step.Missing = append(step.Missing, r.Text())
	}
	return step, r.Err()
}

// Finish goes on with a flow until nothing is left to be done, or nothing can be: a queue that is no list. It
// returns whether the flow is being cancelled, and its members are still to be told.
func (f Flows) Finish(ctx context.Context, id string) (cancelling bool, err error) {
	var queues []string
	for {
		step, err := f.Advance(ctx, id, queues)
		if err != nil || !step.Left || step.Cancelling {
			return step.Cancelling, err
		}
		for _, name := range step.Missing {
			if slices.Contains(queues, name) {
				return false, &redisconn.ServerError{Code: "BADKEY",
					Message: "BADKEY queue:" + name + " has the wrong type for LLEN"}
			}
		}
		if len(step.Missing) > 0 {
			queues = step.Missing
		}
	}
}

// Busy are flows about which something is to be done, those first that wait longest.
func (f Flows) Busy(ctx context.Context) ([]string, error) {
	return f.ids(ctx, "ZRANGE", f.busy(), 0, rdb.MaxBatch-1)
}

func (f Flows) ids(ctx context.Context, command string, args ...any) ([]string, error) {
	value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: command, Args: args})
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader(command, value, nil)
	return r.TextsOf(value), r.Err()
}
