package flowdb

import (
	"context"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

var agreeScript = redisconn.Load("repair/agree_flow")

// What is wrong with members.
const (
	FaultStuck   = "stuck"   // it may run, and is in no queue
	FaultUntold  = "untold"  // it waits for one that has ended
	FaultGone    = "gone"    // nothing is there of it
	FaultUnended = "unended" // of the flow: all of its members have ended
)

// Agree tells what is wrong with members of a flow that runs, at most [MaxPart], and with the flow itself: then the ID
// is empty. Where it mends, anyone can go on with the flow. here says that no job of it can be in another partition.
func (f Flows) Agree(ctx context.Context, id string, members []string, here, mend bool) ([]rdb.Fault, error) {
	k := f.keys(id)
	args := withTexts([]any{mend, id, here}, members)
	value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Script: agreeScript,
		Keys: []string{k[0], k[1], k[3], k[4], k[6], k[7], f.busy(), f.store.Key("jobs"), k[5],
			k[2]},
		Args: args})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read(agreeScript.Name, value)
	var faults []rdb.Fault
	for r.More() {
		faults = append(faults, rdb.Fault{ID: r.Text(), What: r.Text()})
	}
	return faults, r.Err()
}

// BusySince is since when something is to be done about a flow, by Redis' clock in ms, and what that clock says; 0
// where nothing is.
func (f Flows) BusySince(ctx context.Context, id string) (since, now int64, err error) {
	clock, err := f.store.Time(ctx)
	if err != nil {
		return 0, 0, err
	}
	entries, err := f.scores(ctx, f.busy(), id)
	return entries, clock.UnixMilli(), err
}

// FilledLast is when a part of a flow was stored last that is not sealed, as BusySince tells.
func (f Flows) FilledLast(ctx context.Context, id string) (at, now int64, err error) {
	clock, err := f.store.Time(ctx)
	if err != nil {
		return 0, 0, err
	}
	at, err = f.scores(ctx, f.filling(), id)
	return at, clock.UnixMilli(), err
}

func (f Flows) scores(ctx context.Context, key, id string) (int64, error) {
	value, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "ZSCORE", Args: []any{key, id}})
	if err != nil || value == nil {
		return 0, err
	}
	return milliseconds(rdb.Word(value)), nil
}

// List lists a flow among all others, that was not, as one that was stored then.
func (f Flows) List(ctx context.Context, id string, at int64) error {
	_, err := redisconn.Do(ctx, f.store.Driver(), redisconn.Call{Command: "ZADD", Args: []any{f.all(), "NX", at, id}})
	return err
}
