package worqr_test

import (
	"context"
	"errors"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/worqr"
)

// hooks are asked about each pipeline by the name of its first script or command: an error of before keeps it from
// Redis, an error of after loses the reply to it.
type hooks struct {
	driver        redisconn.Driver
	before, after func(name string) error
}

var errLost = errors.New("the connection was lost while waiting for the reply")

// hooked is a client with hooks; what it says when it is closed depends on them.
func (s *site) hooked(options worqr.Options, h *hooks) *worqr.Client {
	s.t.Helper()
	if h.driver == nil {
		h.driver = s.driver
	}
	options.Connection = h
	c, err := worqr.Dial("", options)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = c.Close() }) // see above
	return c
}

func (h *hooks) Driver() (redisconn.Driver, error) { return hookedDriver{h.driver, h}, nil }

type hookedDriver struct {
	redisconn.Driver
	hooks *hooks
}

func (d hookedDriver) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	name := calls[0].Command
	if calls[0].Script != nil {
		name = calls[0].Script.Name
	}
	if d.hooks.before != nil {
		if err := d.hooks.before(name); err != nil {
			return nil, err
		}
	}
	replies, err := d.Driver.Pipeline(ctx, calls...)
	if d.hooks.after != nil {
		if lost := d.hooks.after(name); lost != nil {
			return nil, lost
		}
	}
	return replies, err
}

func (d hookedDriver) SubscribeAll(ctx context.Context, channels []string, ready func(),
	receive func(channel string, message []byte)) error {
	if d.hooks.before != nil {
		if err := d.hooks.before("SUBSCRIBE"); err != nil {
			return err
		}
	}
	return d.Driver.SubscribeAll(ctx, channels, ready, receive)
}
