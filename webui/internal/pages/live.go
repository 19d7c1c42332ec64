package pages

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/265d0351/work/webui/internal/visit"
)

const (
	liveEvery    = 2 * time.Second  // a reading
	livePatience = 20 * time.Second // for a browser to take an event
	liveLife     = 10 * time.Minute // of a stream, after which the browser asks again, and is asked again who it is
)

// feed is what pages that are open live on: one reader for all, which runs while somebody listens.
type feed struct {
	site  *visit.Site
	watch *watch

	mu        sync.Mutex
	listeners map[chan []byte]bool // of an overview, or of ticks
	stop      context.CancelFunc
	stopped   chan struct{}
}

func newFeed(s *visit.Site, w *watch) *feed {
	return &feed{site: s, watch: w, listeners: map[chan []byte]bool{}}
}

// listen begins the reader if nobody else listens.
func (f *feed) listen(overview bool) chan []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := make(chan []byte, 1)
	if len(f.listeners) == 0 {
		ctx, stop := context.WithCancel(context.Background())
		f.stop, f.stopped = stop, make(chan struct{})
		go f.read(ctx, f.stopped)
	}
	f.listeners[events] = overview
	return events
}

// leave ends the reader with its last listener, and waits for it: no goroutine outlives the requests.
func (f *feed) leave(events chan []byte) {
	f.mu.Lock()
	delete(f.listeners, events)
	var stopped chan struct{}
	if len(f.listeners) == 0 {
		f.stop()
		stopped = f.stopped
	}
	f.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
}

// read tells all listeners every two seconds. What is longer under way than that makes the next one late and not more.
func (f *feed) read(ctx context.Context, stopped chan struct{}) {
	defer close(stopped)
	ticks := time.NewTicker(liveEvery)
	defer ticks.Stop()
	for {
		var overview []byte
		if f.wanted() {
			overview = f.overview(ctx)
		}
		f.tell(overview)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// wanted tells whether somebody looks at the overview.
func (f *feed) wanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, overview := range f.listeners {
		if overview {
			return true
		}
	}
	return false
}

// overview is the live part of that page, made once for all.
func (f *feed) overview(ctx context.Context) (event []byte) {
	defer func() {
		if value := recover(); value != nil { // it runs outside of any request, where nobody else would catch it
			visit.LogPanic(f.site.Logger, "the overview panicked", value)
			event = sse("trouble", []byte("the overview cannot be made"))
		}
	}()
	o, err := f.watch.overview(ctx)
	if err != nil {
		f.site.Away(err)
		return sse("trouble", []byte("Redis does not answer: what is shown is old"))
	}
	var b bytes.Buffer
	if err := execute(&b, "overview", "live", page{Body: o, Now: o.Now}); err != nil {
		f.site.Logger.Error("dashboard: the overview cannot be made", "error", err)
		return sse("trouble", []byte("the overview cannot be made"))
	}
	return sse("overview", b.Bytes())
}

// tell replaces what a listener has not taken yet: only the newest is of use.
func (f *feed) tell(overview []byte) {
	tick := sse("tick", []byte(time.Now().UTC().Format(time.RFC3339)))
	f.mu.Lock()
	defer f.mu.Unlock()
	for events, wants := range f.listeners {
		news := tick
		if wants {
			if overview == nil {
				continue // it has just come
			}
			news = overview
		}
		select {
		case <-events:
		default:
		}
		events <- news // nobody else sends
	}
}

// showLive sends events until the browser leaves, or for ten minutes.
func (s *Site) showLive(v *visit.Visit) error {
	leave, err := v.Streams.Live.Enter(v, "too many pages are live: reload this one to update it")
	if err != nil {
		return err
	}
	defer leave()
	events := s.feed.listen(v.Query.Get("page") == "overview")
	defer s.feed.leave(events)
	out := newStream(v)
	end := time.NewTimer(liveLife)
	defer end.Stop()
	for news := []byte("retry: 5000\n\n"); ; {
		if err := out.send(news); err != nil {
			return nil // it has gone
		}
		select {
		case <-v.Ctx().Done():
			return nil
		case <-end.C:
			return nil
		case news = <-events:
		}
	}
}
