// Package pages is the dashboard as people see it: its pages, what their buttons do, and the stream that keeps open
// pages up to date. It serves who was let in already.
package pages

import (
	"context"

	"github.com/265d0351/work/webui/internal/visit"
)

// Site is the pages of one dashboard. It holds no goroutine while no stream is open. All methods may be called
// concurrently.
type Site struct {
	*visit.Site
	signKey string // of notices: those of before a restart are not shown
	routes  []visit.Route
	feed    *feed
	watch   *watch
	running visit.Running
}

// Changed has the next one who asks read all anew: something was done.
func (s *Site) Changed() { s.watch.forget() }

// Overview is the live part of the overview as the stream sends it.
func (s *Site) Overview(ctx context.Context) []byte { return s.feed.overview(ctx) }

// Reading is closed when what open pages live on is read no more; nil while it was never read.
func (s *Site) Reading() <-chan struct{} {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.feed.stopped
}
