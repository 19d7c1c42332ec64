package alerts

import (
	"context"
	"crypto/rand"
	"net/http"
	"text/template"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/peopledb"
)

// sender tells of alerts.
type sender struct {
	Options
	inspector *inspect.Inspector
	store     *rdb.Store
	template  *template.Template
	client    *http.Client
	token     string
	away      inspect.Incident // of Redis: it cannot be kept there
	times     struct{ pause time.Duration }
	clock     func() time.Time // of this machine, for what is told while Redis is away
}

// Send looks for alerts and posts them, until ctx ends. It returns an error at once if the options cannot be used, and
// nil in the end. The inspector stays the caller's. Several programs may do so for a namespace: one of them tells, and
// another goes on within a minute when that one is gone.
func Send(ctx context.Context, inspector *inspect.Inspector, opts Options) error {
	s, err := newSender(inspector, opts)
	if err != nil {
		return err
	}
	for {
		s.round(ctx)
		if !s.pause(ctx, s.Every) {
			s.leave(context.WithoutCancel(ctx))
			return nil
		}
	}
}

func newSender(inspector *inspect.Inspector, opts Options) (*sender, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &sender{Options: opts, inspector: inspector, token: rand.Text(), client: &http.Client{}, clock: time.Now}
	s.times.pause = postPause
	if s.template, err = opts.Shape.parse(); err != nil {
		return nil, err
	}
	if opts.Client != nil {
		*s.client = *opts.Client
	}
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	of := inside.Inspector(inspector)
	if of.Unusable != nil {
		return nil, of.Unusable
	}
	s.store = of.Store
	return s, nil
}

// leave lets another one go on at once.
func (s *sender) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	_, _ = peopledb.Of(s.store).KeepIncidents(ctx, s.token, 0) // it lapses within a minute anyway
}
