// Package drivertest is what each [redisconn.Driver] must do, as tests.
package drivertest

import (
	"context"
	"crypto/sha1" // the name of a script
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// Kit is a Driver as the tests make it.
type Kit struct {
	// Open makes one of a DSN redis://HOST:PORT/0, which may have read_timeout in its query.
	Open func(dsn string) (redisconn.Driver, error)

	// Probe makes a driver notice a silent subscription sooner.
	Probe func(d redisconn.Driver, every, silence time.Duration)

	// Idle is how many connections its pool keeps. Nil: a ctx that ends leaves a pooled connection to what runs on it,
	// and how many there are is not looked at.
	Idle func(d redisconn.Driver) int

	// Each runs a test on each server that there is. Nil: [redistest.Each].
	Each func(t *testing.T, test func(t *testing.T, s redistest.Server))
}

// Test runs all tests on the driver, in parallel.
func Test(t *testing.T, k Kit) {
	if k.Each == nil {
		k.Each = redistest.Each
	}
	for name, test := range map[string]func(*testing.T){
		"replies keep their types":                    k.repliesKeepTheirTypes,
		"arguments of every type":                     k.argumentsOfEveryType,
		"large arguments":                             k.largeArguments,
		"unknown script amid a pipeline":              k.unknownScriptAmidAPipeline,
		"lost reply":                                  k.lostReply,
		"lost reply of a script sent in full":         k.lostReplyOfAScriptSentInFull,
		"read timeout":                                k.readTimeout,
		"blocking call outlasts the read timeout":     k.blockingCallOutlastsTheReadTimeout,
		"context ends a wait":                         k.contextEndsAWait,
		"a bounded context ends a wait":               k.aBoundedContextEndsAWait,
		"a late reply is read whole":                  k.aLateReplyIsReadWhole,
		"a connection that was broken says so":        k.aConnectionThatWasBrokenSaysSo,
		"close ends what is under way":                k.closeEndsWhatIsUnderWay,
		"subscription":                                k.subscription,
		"a subscription is to the shard":              k.aSubscriptionIsToTheShard,
		"subscribe all tells the channels apart":      k.subscribeAllTellsTheChannelsApart,
		"subscribe patterns tells the channels apart": k.subscribePatternsTellsTheChannelsApart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// open opens a DSN for the length of the test.
func (k Kit) open(t *testing.T, dsn string) redisconn.Driver {
	t.Helper()
	d, err := k.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

// keepsNone checks that a connection on which a reply is missing is not used again.
func (k Kit) keepsNone(t *testing.T, d redisconn.Driver, when string) {
	t.Helper()
	if k.Idle != nil {
		assert.Zero(t, k.Idle(d), when)
	}
}

// name is a key that no other test has. What begins with it is in the same slot of a cluster.
func name(t *testing.T) string { return "{" + redistest.Namespace(t) + "}" }

// Do runs one call and returns its value.
func Do(t *testing.T, d interface {
	Pipeline(context.Context, ...redisconn.Call) ([]redisconn.Reply, error)
}, command string, args ...any,
) any {
	t.Helper()
	replies, err := d.Pipeline(t.Context(), redisconn.Call{Command: command, Args: args})
	require.NoError(t, err)
	require.NoError(t, replies[0].Err)
	return replies[0].Value
}

// Script is one that no server has seen: its text has the name of the test.
func Script(t *testing.T, source string) *redisconn.Script {
	source = "-- " + redistest.Namespace(t) + "\n" + source
	sum := sha1.Sum([]byte(source)) // as above
	return &redisconn.Script{Name: "probe", Source: source, SHA: hex.EncodeToString(sum[:])}
}
