package work

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/questions"
)

// OnMessage has this pool's workers answer messages of that name, which inspect.Inspector.Ask sends, with what fn
// returns: a value that is written as JSON, of up to 64 KiB, or an error, of which the one who asks gets the text. The
// payload is the JSON that was sent, nil for none. The ctx of fn ends when the one who asks no longer waits, or a stop
// begins. fn is called in a goroutine of its own, up to eight at a time in each worker, and a panic is such an error;
// one that does not heed its ctx keeps its place. Each message is handled once by each worker that it was sent to,
// unless that dies.
//
// Every pool answers "echo", with the payload, and "info", with a [PoolInfo]. It is called before Start.
func (p *WorkerPool) OnMessage(name string,
	fn func(ctx context.Context, payload json.RawMessage) (any, error)) *WorkerPool {
	site := caller()
	if p.tooLate("OnMessage", site) {
		return p
	}
	err := validateName(name)
	refused := ""
	switch {
	case fn == nil:
		refused = "without a function"
	case name == "echo" || name == "info":
		refused = "answered by every pool"
	case p.messages[name] != nil:
		refused = "registered already"
	}
	if refused != "" {
		err = &InvalidError{What: "message " + excerpt.Brief(name), Value: refused,
			Remedy: "give each message a name and a function of its own"}
	}
	if err != nil {
		p.note(fmt.Errorf("OnMessage at %s: %w", site, err))
		return p
	}
	if p.messages == nil {
		p.messages = map[string]questions.Handler{}
	}
	p.messages[name] = fn
	return p
}
