package topology

import (
	"net"
	"sync"
	"time"
)

// links are the connections between the servers of one test, and what disturbs them.
type links struct {
	mu       sync.Mutex
	data     map[string]bool // addresses of servers with data: what they dial is a primary, or the bus
	isolated map[string]bool
	lag      time.Duration
	changed  chan struct{} // closed by the next change
}

func newLinks() *links {
	return &links{data: map[string]bool{}, isolated: map[string]bool{}, changed: make(chan struct{})}
}

// change does something to the disturbances and wakes whoever waits for their end.
func (n *links) change(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
	close(n.changed)
	n.changed = make(chan struct{})
}

// delay is how late what was read from one end may be written to the other, whether it may be at all, and when to ask
// again.
func (n *links) delay(l *link, answer bool) (late time.Duration, cut bool, changed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	cut = l.peer != "" && (n.isolated[l.peer] || n.isolated[l.server])
	if answer && !l.bus && n.data[l.peer] {
		late = n.lag
	}
	return late, cut, n.changed
}

// link is one connection through a gate.
type link struct {
	peer   string // address of the server that called, or empty: it was a client
	server string
	bus    bool

	caller, called net.Conn
	once           sync.Once
	ended          chan struct{}
}

func (l *link) end() {
	l.once.Do(func() {
		close(l.ended)
		_ = l.caller.Close() // that it ends is all that is wanted
		_ = l.called.Close() // as above
	})
}

// chunk is what was read at once, and when. The end is an empty one, so that it waits as well.
type chunk struct {
	at   time.Time
	data []byte
}

// carry moves bytes until one end has closed and the other has all that was sent before.
func (n *links) carry(l *link, from, to net.Conn, answer bool) {
	way := make(chan chunk, 4096) // beyond it, whoever sends has to wait
	var reader sync.WaitGroup
	defer reader.Wait()
	defer l.end()
	reader.Go(func() {
		defer close(way)
		for {
			buffer := make([]byte, 16<<10)
			read, err := from.Read(buffer)
			c := chunk{time.Now(), buffer[:read]}
			select {
			case way <- c:
			case <-l.ended:
				return
			}
			if err != nil {
				return
			}
		}
	})
	for c := range way {
		if !n.due(l, c.at, answer) {
			return
		}
		if _, err := to.Write(c.data); err != nil {
			return
		}
	}
}

// due waits until what was read at that time may arrive, and tells whether somebody still waits for it.
func (n *links) due(l *link, read time.Time, answer bool) bool {
	for {
		late, cut, changed := n.delay(l, answer)
		left := time.Until(read.Add(late))
		if !cut && (late == 0 || left <= 0) {
			return true
		}
		arrives := make(<-chan time.Time)
		if !cut {
			arrives = time.After(left) // the fault is that it takes so long
		}
		select {
		case <-arrives:
		case <-changed:
		case <-l.ended:
			return false
		}
	}
}
