package rdb_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/rdb"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	refused := func(code, message string) error {
		return fmt.Errorf("a call: %w", &rdb.ServerError{Code: code, Message: message})
	}
	for name, row := range map[string]struct {
		err     error
		class   rdb.ErrorClass
		passes  bool
		full    bool
		servers bool // it concerns the server as a whole
	}{
		"none":            {},
		"loading":         {refused("LOADING", ""), rdb.ErrorClass{Again: true}, true, false, true},
		"no snapshot":     {refused("MISCONF", ""), rdb.ErrorClass{Again: true}, true, false, true},
		"too many":        {refused("ERR", "max number of clients reached"), rdb.ErrorClass{Again: true}, true, false, true},
		"full":            {refused("OOM", "command not allowed"), rdb.ErrorClass{}, false, true, true},
		"no permission":   {refused("NOPERM", ""), rdb.ErrorClass{}, false, false, true},
		"a broken key":    {refused("WRONGTYPE", ""), rdb.ErrorClass{}, false, false, false},
		"not connected":   {&rdb.DialError{Err: io.EOF}, rdb.ErrorClass{Again: true}, false, false, false},
		"closed":          {&rdb.DialError{Err: rdb.ErrClosed}, rdb.ErrorClass{}, false, false, false},
		"a strange reply": {&rdb.UnexpectedReplyError{Script: "x"}, rdb.ErrorClass{MayCount: true}, false, false, false},
		"a lost reply":    {errors.New("EOF"), rdb.ErrorClass{MayCount: true, Again: true}, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.class, rdb.Classify(row.err))
			assert.Equal(t, row.passes, rdb.Passes(row.err))
			assert.Equal(t, row.full, rdb.IsFull(row.err))
			assert.Equal(t, row.servers, rdb.ConcernsServer(row.err))
		})
	}
}
