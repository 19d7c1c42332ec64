package work

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/healthreport"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/rights"
)

// A worker asks for its rights along with a heartbeat, so often; each heartbeat asks while some are missing or a call
// was refused for them. In a large fleet it asks more rarely: what each of many asks adds up.
const (
	rightsInterval      = 5 * time.Second
	rightsIntervalFleet = time.Minute
)

// rightsWatch knows whether the user of a worker may do what a worker needs. While it may not the worker fetches
// nothing. It runs what it holds, and sends outcomes until they are taken.
type rightsWatch struct {
	refused atomic.Pointer[error] // nil while nothing is missing
	doubted atomic.Bool           // a call was refused
	health  healthreport.Reporter

	asked time.Time // the heartbeater's: when the last answer was asked for
	noted bool      // Redis was told of what is missing
}

// doubt notes the error of a call: a refusal for a lack of rights has the next heartbeat ask.
func (r *rightsWatch) doubt(err error) {
	if rights.Denied(err) {
		r.doubted.Store(true)
	}
}

// due reports whether the next heartbeat is to ask.
func (r *rightsWatch) due(fleet bool) bool {
	interval := rightsInterval
	if fleet {
		interval = rightsIntervalFleet
	}
	return r.doubted.Load() || r.refused.Load() != nil || time.Since(r.asked) >= interval
}

// askRights asks by a call of its own, where a heartbeat was refused.
func (h *heartbeater) askRights(ctx context.Context) {
	if replies, err := h.conn.Pipeline(ctx, rights.Worker.Question(h.worker.store.Namespace())); err == nil {
		h.noteRights(ctx, replies[0])
	}
}

// noteRights notes what Redis has answered. What passes says nothing.
func (h *heartbeater) noteRights(ctx context.Context, reply redisconn.Reply) {
	w := h.worker
	watch := &w.rights
	watch.asked = time.Now()
	_, err := rights.Worker.Answered(w.store.Namespace(), reply)
	if redisconn.Passes(err) {
		return
	}
	watch.doubted.Store(false)
	if was := watch.refused.Load() != nil; err != nil {
		watch.refused.Store(&err)
	} else if was {
		watch.refused.Store(nil)
	} else {
		return
	}
	w.queues.wakeup.Wake() // the fetcher may wait for jobs, or rest
	watch.health.Report(err)
	h.tellRights(ctx, err)
}

// tellRights has Redis know why the worker fetches nothing, for the doctor. The user may lack what that takes.
func (h *heartbeater) tellRights(ctx context.Context, err error) {
	watch, text := &h.worker.rights, ""
	var refused *rights.RefusedError
	if errors.As(err, &refused) {
		text = refused.What()
	}
	if noted := text != ""; noted || watch.noted {
		replies, failed := h.conn.Pipeline(ctx, rights.NoteCall(h.worker.store.Namespace(),
			h.worker.session().rdb.ID, text))
		watch.noted = noted || failed != nil || replies[0].Err != nil
	}
}

// beatAlong is what a heartbeat takes along: the counts, and the question for rights where that is due, which comes
// last.
func (h *heartbeater) beatAlong() (calls []redisconn.Call, asks bool) {
	calls = h.worker.statsReporter.Calls(false)
	if asks = h.worker.rights.due(h.fleet); asks {
		calls = append(calls, rights.Worker.Question(h.worker.store.Namespace()))
	}
	return calls, asks
}

// answeredAlong takes the answers to those.
func (h *heartbeater) answeredAlong(ctx context.Context, pulse *rdb.Pulse, asked bool) {
	if last := len(pulse.Along) - 1; asked && last >= 0 {
		h.noteRights(ctx, pulse.Along[last])
		pulse.Along = pulse.Along[:last]
	}
	h.worker.statsReporter.Answered(pulse.Along)
}
