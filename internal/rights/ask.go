package rights

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	rightsScript = redisconn.Load("server/rights")
	noteScript   = redisconn.Load("worker/note_rights")
)

// Answer is what a user may not do that not every program of a role needs: INFO, and WAIT.
type Answer struct{ Lacks []string }

// spared are commands without which a program works: nothing checks the server without INFO, and only callers that wait
// for replicas miss WAIT.
var spared = []string{"INFO", "WAIT"}

// Question is the call that asks what is missing of the role in the namespace. It writes nothing.
func (r Role) Question(namespace string) redisconn.Call {
	prefix := "{" + namespace + "}:"
	keys := make([]string, len(keyKinds))
	for i, kind := range keyKinds {
		keys[i] = prefix + kind
	}
	return redisconn.Call{Script: rightsScript, Keys: keys, Args: questions()[r].args}
}

// Ask asks what is missing of the role, and has no answer where the error of [Role.Answered] is one that passes.
func (r Role) Ask(ctx context.Context, driver redisconn.Driver, namespace string) (Answer, error) {
	replies, err := driver.Pipeline(ctx, r.Question(namespace))
	if err != nil {
		return Answer{}, err
	}
	return r.Answered(namespace, replies[0])
}

// question is what a role asks: the commands in order, and the arguments of the script, which nobody changes.
type question struct {
	commands []string
	args     []any
}

var questions = sync.OnceValue(func() (of [len(roleNames)]question) {
	for _, role := range Roles() {
		q, all, shapes := &of[role], role.Commands(), ""
		q.args = []any{nil}
		for _, probe := range probes {
			if slices.Contains(all, probe.command) {
				shapes += probe.shape
				q.commands, q.args = append(q.commands, probe.command), append(q.args, probe.command)
			}
		}
		q.args[0] = shapes
	}
	return of
})

// Answered reads the reply to the question. The error is a *[RefusedError] where something is missing that the role
// needs, an *[UnusableError] or a *redisconn.WrongServerError of a server that cannot be used, or one that passes. What
// else a server says of the question says nothing of other calls, and is no error.
func (r Role) Answered(namespace string, reply redisconn.Reply) (Answer, error) {
	if reply.Err != nil {
		return r.unasked(namespace, reply.Err)
	}
	said, _ := reply.Value.([]any)
	refused := &RefusedError{Namespace: namespace, Role: r}
	lacks := map[string]bool{}
	for pair := range slices.Chunk(said, 2) {
		number, _ := pair[0].(int64)
		if len(pair) < 2 || number < 1 || int(number) > len(questions()[r].commands) {
			continue
		}
		why, _ := pair[1].([]byte)
		refused.note(questions()[r].commands[number-1], string(why), lacks)
	}
	if lacks["SUBSCRIBE"] && lacks["SSUBSCRIBE"] && !slices.Contains(r.Commands(), "PUBLISH") {
		refused.Channels = true // scripts cannot listen, so Redis gives no reason, and a reader publishes nothing
	}
	return refused.answer(lacks)
}

// unasked is for a server that refuses to run the script.
func (r Role) unasked(namespace string, err error) (Answer, error) {
	var said *redisconn.ServerError
	if Denied(err) && errors.As(err, &said) {
		refused := &RefusedError{Namespace: namespace, Role: r, Keys: ofKeys(said.Message)}
		if !refused.Keys {
			refused.Commands = []string{"EVAL", "EVALSHA"}
		}
		return Answer{}, refused
	}
	err = ExplainScripts(err)
	var unusable *UnusableError
	var wrong *redisconn.WrongServerError
	if redisconn.Passes(err) || errors.As(err, &unusable) || errors.As(err, &wrong) {
		return Answer{}, err
	}
	return Answer{}, nil
}

// note notes why a call is refused. One that scripts cannot make has no reason: it is the command, unless a publication
// on the same channels is refused for them.
func (e *RefusedError) note(command, why string, lacks map[string]bool) {
	switch {
	case ofChannels(why):
		e.Channels = true
	case ofKeys(why):
		e.Keys = true
	default:
		lacks[command] = true
	}
}

// answer puts together what was noted.
func (e *RefusedError) answer(lacks map[string]bool) (a Answer, err error) {
	if e.Channels { // why those who listen are refused
		delete(lacks, "SUBSCRIBE")
		delete(lacks, "SSUBSCRIBE")
	}
	if lacks["SPUBLISH"] && lacks["SSUBSCRIBE"] { // a namespace does without, where none of its users has them
		delete(lacks, "SPUBLISH")
		delete(lacks, "SSUBSCRIBE")
	}
	for _, command := range spared {
		if lacks[command] {
			a.Lacks = append(a.Lacks, command)
			delete(lacks, command)
		}
	}
	for command := range lacks {
		e.Commands = append(e.Commands, command)
	}
	slices.Sort(e.Commands)
	if len(e.Commands) > 0 || e.Keys || e.Channels {
		return a, e
	}
	return a, nil
}

// NoteCall notes of a registered worker what it is refused; "" that it is nothing. [Noted] is the field of its info.
func NoteCall(namespace, worker, refused string) redisconn.Call {
	prefix := "{" + namespace + "}:"
	return redisconn.Call{Script: noteScript, Keys: []string{prefix + "workers", prefix + "worker:" + worker + ":info"},
		Args: []any{worker, refused}}
}

// Noted is the field in which a worker notes what it is refused.
const Noted = "refused"
