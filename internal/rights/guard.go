package rights

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// A guard asks so often while it is used, and so often while it is refused.
const (
	guardInterval   = time.Minute
	refusedInterval = time.Second
)

// Guard is a driver that asks a Redis whether it may be used before it sends anything else: what its owner wants to
// know, and whether the user may do what the role needs. It asks again along with a pipeline, once a minute and when
// the driver has made a new connection, and before the next pipeline when one was lost or was refused. Where Redis
// cannot be asked for a time the pipeline fails with that error; any other refusal to answer counts as allowed.
type Guard struct {
	redisconn.Driver
	namespace string
	role      Role
	questions []Question
	tell      func(lacks []string) // of commands that are spared: see Answer; may be nil

	dialler redisconn.Dialler // nil where the driver does not count its connections
	dialled atomic.Int64      // of them when it was asked

	told  sync.Once
	roles sync.Map // of scripts
	gates [len(roleNames)]gate
}

// Question is one that a guard asks beside its own. Answered returns why Redis cannot be used, which must be a refusal:
// every pipeline is answered with it.
type Question struct {
	Call     redisconn.Call
	Answered func(reply redisconn.Reply) error
}

// gate is what is known of a role.
type gate struct {
	next    atomic.Int64          // when to ask again; 0: before anything else
	refused atomic.Pointer[error] // what every pipeline is answered; nil while there is nothing wrong
}

// Program is who uses a guard.
type Program struct {
	Namespace string
	Role      Role                 // that it mostly has: see [Role.For]
	Tell      func(lacks []string) // is told once what the user lacks that a program can do without; may be nil
}

// NewGuard makes the guard of a program.
func NewGuard(driver redisconn.Driver, p Program, questions ...Question) *Guard {
	dialler, _ := driver.(redisconn.Dialler)
	return &Guard{Driver: driver, dialler: dialler, namespace: p.Namespace, role: p.Role, tell: p.Tell,
		questions: questions}
}

// Pipeline is that of the driver.
func (g *Guard) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	along, err := g.admit(ctx, g.role, true)
	if err != nil {
		return nil, err
	}
	for i := range calls {
		if role := g.roleFor(&calls[i]); role != g.role {
			if _, err := g.admit(ctx, role, false); err != nil {
				return nil, err
			}
		}
	}
	if len(along) > 0 {
		calls = append(along, calls...)
	}
	replies, err := g.Driver.Pipeline(ctx, calls...)
	if err != nil {
		if ctx.Err() == nil {
			g.forget() // another server may answer the next one
		}
		return nil, err
	}
	if len(along) > 0 {
		_ = g.note(g.role, replies[:len(along)]) // it counts from the next pipeline on
	}
	replies = replies[len(along):]
	for i := range replies {
		if Denied(replies[i].Err) {
			g.forget()
		}
	}
	return replies, nil
}

// admit returns why a role cannot be used, and asks where that is due. What may go along with a pipeline it returns.
func (g *Guard) admit(ctx context.Context, role Role, along bool) ([]redisconn.Call, error) {
	gate := &g.gates[role]
	next, now := gate.next.Load(), time.Now().UnixNano()
	due := now > next || along && next > 0 && g.redialled()
	refused := gate.refused.Load()
	switch {
	case next == 0 || due && (refused != nil || !along):
		return nil, g.ask(ctx, role)
	case due && gate.next.CompareAndSwap(next, now+int64(guardInterval)):
		return g.asking(role), nil
	case refused != nil:
		return nil, *refused
	}
	return nil, nil
}

// ask asks for version and rights. The short questions go first: to a user who has not logged in Redis refuses a script
// with all its keys by dropping the connection, and the answer that a login is needed would be lost with it.
func (g *Guard) ask(ctx context.Context, role Role) error {
	calls := g.asking(role)
	short := len(g.questions)
	replies, err := g.Driver.Pipeline(ctx, calls[:short]...)
	if err != nil {
		return err
	}
	for _, reply := range replies {
		if redisconn.Refused(reply.Err) && redisconn.MeaningOf(reply.Err) == redisconn.Unfit {
			return reply.Err
		}
	}
	rights, err := g.Driver.Pipeline(ctx, calls[short:]...)
	if err != nil {
		return err
	}
	g.redialled() // those were asked
	return g.note(role, append(replies, rights...))
}

// redialled reports whether the driver has made connections since this was asked last.
func (g *Guard) redialled() bool {
	if g.dialler == nil {
		return false
	}
	before, now := g.dialled.Load(), g.dialler.Dialled()
	return before != now && g.dialled.CompareAndSwap(before, now)
}

func (g *Guard) asking(role Role) []redisconn.Call {
	calls := make([]redisconn.Call, len(g.questions), len(g.questions)+1)
	for i, question := range g.questions {
		calls[i] = question.Call
	}
	return append(calls, role.Question(g.namespace))
}

// note notes what Redis has answered, and returns why it cannot be used.
func (g *Guard) note(role Role, replies []redisconn.Reply) error {
	for i, question := range g.questions {
		if err := question.Answered(replies[i]); err != nil {
			return g.set(role, err)
		}
	}
	answer, err := role.Answered(g.namespace, replies[len(g.questions)])
	if redisconn.Passes(err) {
		return err
	}
	if role == g.role && len(answer.Lacks) > 0 && g.tell != nil {
		g.told.Do(func() { g.tell(answer.Lacks) })
	}
	return g.set(role, err)
}

// roleFor is the role of a call.
func (g *Guard) roleFor(call *redisconn.Call) Role {
	if call.Script == nil {
		return g.role.For(call)
	}
	known, found := g.roles.Load(call.Script)
	if !found {
		known, _ = g.roles.LoadOrStore(call.Script, g.role.For(call))
	}
	return known.(Role)
}

func (g *Guard) set(role Role, err error) error {
	gate := &g.gates[role]
	if err == nil {
		gate.refused.Store(nil)
		gate.next.Store(time.Now().Add(guardInterval).UnixNano())
		return nil
	}
	gate.refused.Store(&err)
	gate.next.Store(time.Now().Add(refusedInterval).UnixNano())
	return err
}

// forget has the guard ask again before the next pipeline.
func (g *Guard) forget() {
	for i := range g.gates {
		if g.gates[i].refused.Load() == nil {
			g.gates[i].next.Store(0)
		}
	}
}
