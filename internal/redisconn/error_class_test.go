package redisconn_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/redisconn"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	refused := func(code, message string) error {
		return fmt.Errorf("a call: %w", &redisconn.ServerError{Code: code, Message: message})
	}
	for name, row := range map[string]struct {
		err     error
		class   redisconn.ErrorClass
		passes  bool
		full    bool
		servers bool // it concerns the server as a whole
	}{
		"none":        {},
		"loading":     {refused("LOADING", ""), redisconn.ErrorClass{Again: true}, true, false, true},
		"no snapshot": {refused("MISCONF", ""), redisconn.ErrorClass{Again: true}, true, false, true},
		"moved":       {refused("MOVED", ""), redisconn.ErrorClass{Again: true}, true, false, true},
		"about to":    {refused("ASK", ""), redisconn.ErrorClass{Again: true}, true, false, true},
		"half there":  {refused("TRYAGAIN", ""), redisconn.ErrorClass{Again: true}, true, false, true},
		"no cluster":  {refused("CLUSTERDOWN", ""), redisconn.ErrorClass{Again: true}, true, false, true},
		"a replica":   {refused("READONLY", ""), redisconn.ErrorClass{Again: true}, true, false, true},
		"cut off":     {refused("MASTERDOWN", ""), redisconn.ErrorClass{Again: true}, true, false, true},
		"no replicas": {refused("NOREPLICAS", ""), redisconn.ErrorClass{Again: true}, true, false, true},
		"demoted":     {refused("UNBLOCKED", ""), redisconn.ErrorClass{Again: true}, true, false, true},
		"too many": {refused("ERR", "max number of clients reached"), redisconn.ErrorClass{Again: true}, true,
			false, true},
		"full":          {refused("OOM", "command not allowed"), redisconn.ErrorClass{}, false, true, true},
		"no permission": {refused("NOPERM", ""), redisconn.ErrorClass{}, false, false, true},
		"a broken key":  {refused("WRONGTYPE", ""), redisconn.ErrorClass{}, false, false, false},
		"not connected": {&redisconn.DialError{Err: io.EOF}, redisconn.ErrorClass{Again: true}, false, false, false},
		"closed": {&redisconn.DialError{Err: redisconn.ErrClosed}, redisconn.ErrorClass{}, false, false,
			false},
		"a strange reply": {&redisconn.UnexpectedReplyError{Script: "x"}, redisconn.ErrorClass{MayCount: true}, false,
			false, false},
		"a lost reply": {errors.New("EOF"), redisconn.ErrorClass{MayCount: true, Again: true}, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.class, redisconn.Classify(row.err))
			assert.Equal(t, row.passes, redisconn.Passes(row.err))
			assert.Equal(t, row.full, redisconn.IsFull(row.err))
			assert.Equal(t, row.servers, redisconn.ConcernsServer(row.err))
		})
	}
}
