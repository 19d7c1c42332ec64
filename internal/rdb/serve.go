package rdb

import "context"

var serveScript = Load("serve")

// Serving is a change of what a registered worker serves.
type Serving struct {
	Add   []string
	Leave []string // a queue of which the worker holds jobs is not left
}

// Serve changes which queues the worker serves, in steps of [MaxBatch], and returns those that it does not leave, since it holds
// jobs of them. number is of the same series as those of its fetches and at least the last one; each step uses one more. After an
// error the worker surveys: so no step that was given up lands later.
func (w *Worker) Serve(ctx context.Context, number func() int64, change Serving) (State, []string, error) {
	var stay []string
	for len(change.Add)+len(change.Leave) > 0 {
		leave := min(len(change.Leave), MaxBatch)
		add := min(len(change.Add), MaxBatch-leave)
		keys := append(make([]string, 0, 4+leave), w.keys.info, w.store.keys.workers, w.keys.queues, w.store.keys.queues)
		args := append(make([]any, 0, 2+leave+add), w.ID, number())
		for _, queue := range change.Leave[:leave] {
			keys, args = append(keys, w.keys.inprocess(queue)), append(args, queue)
		}
		for _, queue := range change.Add[:add] {
			args = append(args, queue)
		}
		change.Leave, change.Add = change.Leave[leave:], change.Add[add:]
		value, err := Do(ctx, w.store.driver, Call{Script: serveScript, Keys: keys, Args: args})
		if err != nil {
			return "", stay, err
		}
		r := Read("serve", value)
		state := State(r.Text())
		stay = append(stay, r.Texts()...)
		if state != Registered || r.err != nil {
			return state, stay, r.err
		}
	}
	return Registered, stay, nil
}
