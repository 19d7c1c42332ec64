package topology

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// Slots is how many there are.
const Slots = 16384

// Slot is the one of a key: the CRC16 of the key, or of what stands between its first brace and the next closing one.
func Slot(key string) int {
	if _, behind, found := strings.Cut(key, "{"); found {
		if tag, _, closed := strings.Cut(behind, "}"); closed && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for _, b := range []byte(key) {
		crc ^= uint16(b) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % Slots
}

// view is what a node says of itself and the others.
type view struct {
	info  string   // CLUSTER INFO
	self  nodeLine // the node's own
	ready []string // ids of the nodes that it knows and is connected with
}

// nodeLine is one line of CLUSTER NODES.
type nodeLine struct {
	id, primary string // primary is empty for one
	epoch       int
	ranges      [][2]int
}

func (s *Server) view() (view, error) {
	conn, err := s.dial()
	if err != nil {
		return view{}, err
	}
	defer conn.Close()
	var v view
	if v.info, err = redis.String(conn.Do("CLUSTER", "INFO")); err != nil {
		return v, err
	}
	nodes, err := redis.String(conn.Do("CLUSTER", "NODES"))
	if err != nil {
		return v, err
	}
	for l := range strings.Lines(nodes) {
		words := strings.Fields(l)
		if len(words) < 8 {
			return v, fmt.Errorf("CLUSTER NODES of %s has the line %q", s.Addr(), l)
		}
		flags := strings.Split(words[2], ",")
		if slices.Contains(flags, "myself") {
			v.self = parseNode(words)
			v.ready = append(v.ready, words[0])
		} else if words[7] == "connected" && !slices.Contains(flags, "handshake") {
			v.ready = append(v.ready, words[0])
		}
	}
	return v, nil
}

// parseNode reads a line. Slots on their way to or from another node stand in brackets, and are the sender's.
func parseNode(words []string) nodeLine {
	n := nodeLine{id: words[0], primary: strings.Trim(words[3], "-")}
	n.epoch, _ = strconv.Atoi(words[6]) // it is a number
	for _, word := range words[8:] {
		from, to, several := strings.Cut(word, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if several {
			last, _ = strconv.Atoi(to) // as above
		}
		n.ranges = append(n.ranges, [2]int{first, last})
	}
	return n
}

func (n nodeLine) has(slot int) bool {
	return slices.ContainsFunc(n.ranges, func(r [2]int) bool { return r[0] <= slot && slot <= r[1] })
}

// Owner is the primary that says that it has a slot. Of two the newer one has it: the other was cut off, or paused.
func (c *Cluster) Owner(slot int) *Server {
	c.t.Helper()
	var owner *Server
	await(c.t, fmt.Sprintf("the owner of slot %d", slot), func() (err error) {
		owner, err = c.owner(slot)
		return err
	})
	return owner
}

func (c *Cluster) owner(slot int) (*Server, error) {
	var owner *Server
	newest, last := -1, errors.New("every node says that it is another's")
	for _, s := range c.Nodes {
		v, err := s.view()
		switch {
		case err != nil:
			last = err
		case v.self.primary == "" && v.self.has(slot) && v.self.epoch > newest:
			owner, newest = s, v.self.epoch
		}
	}
	if owner == nil {
		return nil, fmt.Errorf("nobody has slot %d: %w", slot, last)
	}
	return owner, nil
}

// SlotsOf are those that a node says that it has.
func (c *Cluster) SlotsOf(s *Server) []int {
	c.t.Helper()
	v, err := s.view()
	s.check(err)
	var all []int
	for _, r := range v.self.ranges {
		for slot := r[0]; slot <= r[1]; slot++ {
			all = append(all, slot)
		}
	}
	return all
}

// lot is how many slots are on their way at once. The one that has keys is so for some 100 ms.
const lot = 512

// MoveSlots makes slots, which all have the same owner now, another primary's, with their keys.
func (c *Cluster) MoveSlots(to *Server, slots ...int) {
	c.t.Helper()
	for some := range slices.Chunk(slots, lot) {
		c.Move(to, some...).End()
	}
}

// Move is slots on their way from one primary to another.
type Move struct {
	c        *Cluster
	from, to *Server
	slots    []int
}

// Move begins to move slots, which all have the same owner now: that one answers ASK for keys that it does not have,
// and TRYAGAIN for several of which it has some, until End.
func (c *Cluster) Move(to *Server, slots ...int) *Move {
	c.t.Helper()
	m := &Move{c: c, from: c.Owner(slots[0]), to: to, slots: slots}
	m.each(to, func(slot int) []any { return []any{"SETSLOT", slot, "IMPORTING", m.from.id} })
	m.each(m.from, func(slot int) []any { return []any{"SETSLOT", slot, "MIGRATING", to.id} })
	return m
}

// Keys moves up to so many keys of each slot, and returns how many that were.
func (m *Move) Keys(most int) int {
	m.c.t.Helper()
	host, port, err := net.SplitHostPort(m.to.Addr())
	m.to.check(err)
	total := 0
	for i, found := range m.each(m.from, func(slot int) []any { return []any{"GETKEYSINSLOT", slot, most} }) {
		keys, err := redis.Values(found, nil)
		m.from.check(err)
		if len(keys) == 0 {
			continue
		}
		args := append([]any{host, port, "", 0, 10_000, "KEYS"}, keys...)
		if _, err := m.from.Do("MIGRATE", args...); err != nil {
			m.c.t.Fatalf("MIGRATE of %d keys of slot %d: %v", len(keys), m.slots[i], err)
		}
		total += len(keys)
	}
	return total
}

// End moves the keys that are left and gives the slots to the new owner. It is told first, so that no slot is without
// one.
func (m *Move) End() {
	m.c.t.Helper()
	for m.Keys(100) > 0 {
	}
	give := func(slot int) []any { return []any{"SETSLOT", slot, "NODE", m.to.id} }
	m.each(m.to, give)
	m.each(m.from, give)
	for _, other := range m.c.Primaries() {
		if other != m.from && other != m.to {
			m.each(other, give)
		}
	}
}

// each sends one command of CLUSTER for each slot in one go.
func (m *Move) each(at *Server, command func(slot int) []any) []any {
	m.c.t.Helper()
	conn, err := at.dial()
	at.check(err)
	defer conn.Close()
	for _, slot := range m.slots {
		at.check(conn.Send("CLUSTER", command(slot)...))
	}
	at.check(conn.Flush())
	replies := make([]any, len(m.slots))
	for i := range replies {
		replies[i], err = conn.Receive()
		if err != nil {
			m.c.t.Fatalf("CLUSTER %v at %s: %v", command(m.slots[i]), at.Addr(), err)
		}
	}
	return replies
}

// text is a reply that is a string.
func text(reply any) string {
	b, _ := reply.([]byte)
	return string(b)
}
