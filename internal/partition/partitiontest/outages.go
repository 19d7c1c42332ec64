package partitiontest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/265d0351/work/internal/redisconn"
)

// Fault is what is wrong with a partition.
type Fault string

// The faults of a partition.
const (
	Down    Fault = "down"    // nothing reaches it: a redisconn.DialError, and connections of one's own break
	Deaf    Fault = "deaf"    // nothing reaches it, and nobody knows: calls hang until their ctx ends or it is up again
	Mute    Fault = "mute"    // it executes what it is sent, and the reply is lost
	Loading Fault = "loading" // it refuses everything, and runs nothing
)

// ErrLost is the error of a call whose reply is lost.
var ErrLost = fmt.Errorf("the reply is lost: %w", io.ErrUnexpectedEOF)

// send passes calls on to Redis.
type send func(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error)

// Outages is a driver of which single partitions of a namespace may fail while the others work, all of them on one
// server. It goes by the keys of the calls, and refuses a pipeline with keys of several partitions, as a cluster would.
// Its methods may be called concurrently.
type Outages struct {
	redisconn.Driver
	namespace string

	mu      sync.Mutex
	faults  map[int]Fault
	changed chan struct{}
	sent    map[int]int
	conns   map[*outageConn]struct{}
}

// NewOutages puts it before a driver. All partitions are well.
func NewOutages(driver redisconn.Driver, namespace string) *Outages {
	return &Outages{Driver: driver, namespace: namespace, faults: map[int]Fault{}, changed: make(chan struct{}),
		sent: map[int]int{}, conns: map[*outageConn]struct{}{}}
}

// Set makes a partition fail from now on, in place of how it failed before.
func (o *Outages) Set(partition int, fault Fault) {
	o.mu.Lock()
	o.faults[partition] = fault
	o.change()
	var cut []*outageConn
	for conn := range o.conns {
		if fault == Down && conn.partition == partition {
			cut = append(cut, conn)
		}
	}
	o.mu.Unlock()
	for _, conn := range cut {
		_ = conn.Conn.Close() // ends what is under way
	}
}

// Up makes a partition well again.
func (o *Outages) Up(partition int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.faults, partition)
	o.change()
}

func (o *Outages) change() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// Sent is how many pipelines were tried to be sent to a partition.
func (o *Outages) Sent(partition int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sent[partition]
}

// Pipeline passes on what a partition that is well is to get.
func (o *Outages) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	partition, err := o.of(calls)
	if err != nil {
		return nil, err
	}
	return o.pass(ctx, partition, o.Driver.Pipeline, calls)
}

func (o *Outages) pass(ctx context.Context, partition int, pass send, calls []redisconn.Call) ([]redisconn.Reply,
	error) {
	o.mu.Lock()
	o.sent[partition]++
	o.mu.Unlock()
	for {
		o.mu.Lock()
		fault, changed := o.faults[partition], o.changed
		o.mu.Unlock()
		switch fault {
		case Down:
			return nil, o.unreachable(partition)
		case Mute:
			if _, err := pass(ctx, calls...); err != nil {
				return nil, err
			}
			return nil, ErrLost
		case Loading:
			replies := make([]redisconn.Reply, len(calls))
			for i := range replies {
				replies[i].Err = &redisconn.ServerError{Code: "LOADING", Message: "LOADING Redis is loading"}
			}
			return replies, nil
		case Deaf:
			select {
			case <-changed:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		default:
			return pass(ctx, calls...)
		}
	}
}

func (o *Outages) unreachable(partition int) error {
	return &redisconn.DialError{Addr: fmt.Sprint("partition-", partition), Err: errors.New("connection refused")}
}

// of is the partition that all calls are about.
func (o *Outages) of(calls []redisconn.Call) (int, error) {
	partition := -1
	for _, call := range calls {
		keys := call.Keys
		for _, arg := range call.Args {
			if text, is := arg.(string); is && call.Script == nil {
				keys = append(keys, text)
			}
		}
		for _, key := range keys {
			at, is := o.at(key)
			switch {
			case !is:
			case partition >= 0 && at != partition:
				return 0, fmt.Errorf("a pipeline has keys of partitions %d and %d", partition, at)
			default:
				partition = at
			}
		}
	}
	return partition, nil
}

// at is the partition of a key.
func (o *Outages) at(key string) (partition int, is bool) {
	rest, is := strings.CutPrefix(key, "{"+o.namespace)
	if !is {
		return 0, false
	}
	tag, _, is := strings.Cut(rest, "}")
	if !is || tag == "" {
		return 0, is
	}
	partition, err := strconv.Atoi(strings.TrimPrefix(tag, "/"))
	return partition, err == nil
}

// Dial opens a connection, which breaks when the partition that it was used for last is down.
func (o *Outages) Dial(ctx context.Context) (redisconn.Conn, error) {
	conn, err := o.Driver.Dial(ctx)
	if err != nil {
		return nil, err
	}
	own := &outageConn{Conn: conn, outages: o, partition: -1}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conns[own] = struct{}{}
	return own, nil
}

type outageConn struct {
	redisconn.Conn
	outages   *Outages
	partition int // guarded by the mu of outages
}

func (c *outageConn) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	partition, err := c.outages.of(calls)
	if err != nil {
		return nil, err
	}
	c.outages.mu.Lock()
	c.partition = partition
	c.outages.mu.Unlock()
	replies, err := c.outages.pass(ctx, partition, c.Conn.Pipeline, calls)
	if err != nil {
		_ = c.Conn.Close()
	}
	return replies, err
}

func (c *outageConn) Close() error {
	c.outages.mu.Lock()
	delete(c.outages.conns, c)
	c.outages.mu.Unlock()
	return c.Conn.Close()
}

// Subscribe hears nothing of a partition that is not well, and ends when one is down.
func (o *Outages) Subscribe(ctx context.Context, channel string, ready func(), receive func([]byte)) error {
	partition, _ := o.at(channel)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	down := make(chan error, 1)
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		for {
			o.mu.Lock()
			fault, changed := o.faults[partition], o.changed
			o.mu.Unlock()
			if fault == Down {
				down <- o.unreachable(partition)
				cancel()
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	})
	err := o.Driver.Subscribe(ctx, channel, ready, func(message []byte) {
		o.mu.Lock()
		fault := o.faults[partition]
		o.mu.Unlock()
		if fault == "" {
			receive(message)
		}
	})
	cancel()
	select {
	case err = <-down:
	default:
	}
	return err
}
