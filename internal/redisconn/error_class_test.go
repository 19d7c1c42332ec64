package redisconn_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redisconn/recorded"
)

// Each answer that is recorded of a server, a provider or a proxy means what the table says, bare and as a driver wraps
// it: only what is known to be of the call is held against a job.
func TestEveryRecordedAnswerHasItsMeaning(t *testing.T) {
	t.Parallel()
	for _, answer := range recorded.Answers {
		t.Run(answer.Text, func(t *testing.T) {
			t.Parallel()
			err := error(redisconn.ParseServerError(answer.Text))
			assert.Equal(t, answer.Meaning, redisconn.MeaningOf(err))
			assert.Equal(t, answer.Meaning,
				redisconn.MeaningOf(fmt.Errorf("a call: %w", &redisconn.DialError{Err: err})))
			assert.Equal(t, answer.Meaning != redisconn.OfCall, redisconn.ConcernsServer(err))
			assert.Equal(t, answer.Meaning == redisconn.Full, redisconn.IsFull(err))
			assert.True(t, redisconn.Refused(err))
		})
	}
}

// A command that is refused in the middle of a script leaves what the script wrote before, and a proxy may have handed
// on what it lost the answer to: such calls may have counted.
func TestARefusalOfWhatMayHaveBeenExecutedMayCount(t *testing.T) {
	t.Parallel()
	again, doubtful := redisconn.ErrorClass{Again: true}, redisconn.ErrorClass{Again: true, MayCount: true}
	for text, want := range map[string]redisconn.ErrorClass{
		"ERR The user executing the script can't run this command":                               again,
		"ERR The user executing the script can't run this command script: a, on @user_script:7.": doubtful,
		"ERR user_script:4: attempt to index a nil value script: a, on @user_script:4.":          doubtful,
		"READONLY You can't write against a read only replica. script: a, on @user_script:9.":    again,
		"WRONGTYPE Operation against a key script: a, on @user_script:9.":                        {MayCount: true},
		"BADKEY {shop}:jobs has the wrong type for HLEN":                                         {},
		"ERR the moon is in the way":                                                             doubtful,
		"upstream failure":                                                                       doubtful,
		"upstream protocol error":                                                                doubtful,
		"no upstream host":                                                                       again,
		"ERR Connection refused":                                                                 again,
		"ERR Operation timed out":                                                                doubtful,
		"ERR unknown command 'fcall', with args beginning with: 'upstream failure'":              {},
	} {
		assert.Equal(t, want, redisconn.Classify(redisconn.ParseServerError(text)), text)
	}
}

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
		"full":           {refused("OOM", "command not allowed"), redisconn.ErrorClass{}, false, true, true},
		"no permission":  {refused("NOPERM", ""), redisconn.ErrorClass{Again: true}, false, false, true},
		"wrong password": {refused("WRONGPASS", ""), redisconn.ErrorClass{}, false, false, true},
		"unknown words": {refused("ERR", "ERR the moon"), redisconn.ErrorClass{Again: true, MayCount: true}, true,
			false, true},
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
