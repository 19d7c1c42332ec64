package visit

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/265d0351/work/webui/internal/tries"
)

// Streams are answers that go on for as long as somebody looks, of one kind: at most Site.MaxStreams of them. Where
// there are so many, a viewer who has fewer than another gets a place of the one who has most: nobody takes all. The
// zero value has none. All methods may be called concurrently.
type Streams struct {
	mu   sync.Mutex
	open []*place // the oldest first
}

type place struct {
	viewer string
	end    context.CancelCauseFunc
}

// ErrDisplaced is the cause that ends a stream whose place another viewer got.
var ErrDisplaced = errors.New("as many streams are open as may be, and its place is another viewer's now")

// Open is how many there are.
func (s *Streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// Enter takes a place, which the caller leaves in the end, and has the context of the visit end with it. Without a
// place the error is a 503 with the text.
func (s *Streams) Enter(v *Visit, full string) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, end := context.WithCancelCause(v.Ctx())
	mine := &place{viewer: v.Actor + " " + tries.Network(v.R.RemoteAddr), end: end}
	if len(s.open) >= v.MaxStreams && !s.displace(mine.viewer) {
		end(nil)
		v.W.Header().Set("Retry-After", "60")
		return nil, &StatusError{http.StatusServiceUnavailable, full}
	}
	v.R, s.open = v.R.WithContext(ctx), append(s.open, mine)
	return func() { s.leave(mine) }, nil
}

// displace ends the newest stream of the viewer with the most, unless the two would just swap.
func (s *Streams) displace(viewer string) bool {
	has := map[string]int{}
	for _, one := range s.open {
		has[one.viewer]++
	}
	newest := -1
	for n, one := range s.open {
		if newest < 0 || has[one.viewer] >= has[s.open[newest].viewer] {
			newest = n
		}
	}
	if newest < 0 || has[s.open[newest].viewer] <= has[viewer]+1 {
		return false
	}
	s.open[newest].end(ErrDisplaced)
	s.open = append(s.open[:newest], s.open[newest+1:]...)
	return true
}

func (s *Streams) leave(mine *place) {
	mine.end(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, one := range s.open {
		if one == mine {
			s.open = append(s.open[:n], s.open[n+1:]...)
			return
		}
	}
}
