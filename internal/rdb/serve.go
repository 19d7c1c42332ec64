package rdb

import "context"

var serveScript = Load("worker/serve")

// Serving is a change of what a registered worker serves.
type Serving struct {
	Add   []string
	Leave []string // a queue of which the worker holds jobs is not left
}

// Serve changes which queues the worker serves, and returns those that it does not leave, since it holds jobs of them.
// number is of the same series as those of its fetches and at least the last one; each call uses one more. After an
// error the worker surveys: so no call that was given up lands later. One that was cut off half-way may be repeated.
func (w *Worker) Serve(ctx context.Context, number func() int64, change Serving) (State, []string, error) {
	var calls []Call
	for len(change.Add)+len(change.Leave) > 0 {
		leave := min(len(change.Leave), MaxBatch)
		add := min(len(change.Add), MaxBatch-leave)
		keys := append(make([]string, 0, 4+leave), w.keys.info, w.store.keys.workers, w.keys.queues,
			w.store.keys.queues)
		for _, queue := range change.Leave[:leave] {
			keys = append(keys, w.keys.inprocess(queue))
		}
		args := appendTexts(appendTexts([]any{w.ID, number()}, change.Leave[:leave]), change.Add[:add])
		calls = append(calls, Call{Script: serveScript, Keys: keys, Args: args})
		change.Leave, change.Add = change.Leave[leave:], change.Add[add:]
	}
	values, err := w.store.many(ctx, calls)
	if err != nil {
		return "", nil, err
	}
	var stay []string
	for _, value := range values {
		r := Read("worker/serve", value)
		state := State(r.Text())
		stay = append(stay, r.Texts()...)
		if state != Registered || r.err != nil {
			return state, stay, r.err
		}
	}
	return Registered, stay, nil
}
