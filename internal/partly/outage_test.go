package partly_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partly"
	"github.com/265d0351/work/internal/redisconn"
)

func TestWhichErrorsSayThatRedisIsAway(t *testing.T) {
	t.Parallel()
	const addr = "b:6379"
	unsent := &redisconn.DialError{Addr: addr, Err: errors.New("connection refused")}
	lost := func(err error) error { return &redisconn.LostError{Addr: addr, Doing: "waiting", Err: err} }
	refused := func(message string) error {
		return fmt.Errorf("jobs cannot be counted: %w", redisconn.ParseServerError(message))
	}
	for name, c := range map[string]struct {
		err  error
		want partly.Outage
		is   bool
	}{
		"no connection":    {fmt.Errorf("jobs cannot be counted: %w", unsent), partly.Outage{Addr: addr}, true},
		"a lost one":       {lost(io.EOF), partly.Outage{Addr: addr}, true},
		"no answer":        {lost(context.DeadlineExceeded), partly.Outage{Addr: addr}, true},
		"it loads":         {refused("LOADING Redis is loading the dataset"), partly.Outage{Loading: true}, true},
		"a broken cluster": {refused("CLUSTERDOWN The cluster is down"), partly.Outage{Loading: true}, true},

		"none":       {err: nil},
		"another":    {err: errors.New("the map is broken")},
		"it refuses": {err: refused("OOM command not allowed")},
		"a wrong password": {err: &redisconn.DialError{Addr: addr,
			Err: redisconn.ParseServerError("WRONGPASS invalid username-password pair")}},
		"who asked has gone": {err: lost(context.Canceled)},
		"who asks is closed": {err: &redisconn.DialError{Addr: addr, Err: redisconn.ErrClosed}},
		"one partition":      {err: &partition.Error{Partition: 1, Err: unsent}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outage, is := partly.OutageIn(c.err)
			assert.Equal(t, c.want, outage)
			assert.Equal(t, c.is, is)
		})
	}
}
