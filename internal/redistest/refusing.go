package redistest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Refuser stands between clients and a Redis as a provider or a proxy does that takes no requests for a while: it
// answers each with the same words, in the order in which they came. Subscriptions that stand go on.
type Refuser struct {
	listener net.Listener
	target   string
	done     sync.WaitGroup
	words    atomic.Pointer[string] // nil while all is well
	refused  atomic.Int64

	mu     sync.Mutex
	links  []net.Conn
	closed bool
}

// NewRefuser starts one before the Redis at addr. It ends with the test.
func NewRefuser(t testing.TB, addr string) *Refuser {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Refuser{listener: listener, target: addr}
	r.done.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

// DSN is database 0 behind it.
func (r *Refuser) DSN() string { return "redis://" + r.listener.Addr().String() + "/0" }

// Refuse has it answer each request with these words; none end that.
func (r *Refuser) Refuse(words string) {
	if words == "" {
		r.words.Store(nil)
		return
	}
	r.words.Store(&words)
}

// Refused is how many requests it has refused.
func (r *Refuser) Refused() int64 { return r.refused.Load() }

func (r *Refuser) close() {
	r.listener.Close() //lint:ignore errcheck ends accept
	r.mu.Lock()
	r.closed = true
	for _, link := range r.links {
		link.Close() //lint:ignore errcheck closing is all that is wanted
	}
	r.mu.Unlock()
	r.done.Wait()
}

func (r *Refuser) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		redis, err := net.Dial("tcp", r.target)
		if err != nil {
			client.Close() //lint:ignore errcheck as if Redis had refused it
			continue
		}
		r.mu.Lock()
		if r.closed {
			client.Close() //lint:ignore errcheck closing is all that is wanted
			redis.Close()  //lint:ignore errcheck as above
		} else {
			r.links = append(r.links, client, redis)
			r.done.Go(func() { r.serve(client, redis) })
		}
		r.mu.Unlock()
	}
}

// serve answers one connection: a request at a time, until it subscribes.
func (r *Refuser) serve(client, redis net.Conn) {
	defer client.Close() //lint:ignore errcheck closing is all that is wanted
	defer redis.Close()  //lint:ignore errcheck as above
	requests, replies := bufio.NewReaderSize(client, 1<<16), bufio.NewReaderSize(redis, 1<<16)
	for {
		request, err := readValue(requests)
		if err != nil {
			return
		}
		words := r.words.Load()
		switch {
		case words != nil:
			r.refused.Add(1)
			_, err = fmt.Fprintf(client, "-%s\r\n", *words)
		case subscribes(request):
			if _, err = redis.Write(request); err == nil {
				r.done.Go(func() {
					_, _ = io.Copy(redis, requests) // it ends with either side
					_ = redis.Close()
				})
				_, _ = io.Copy(client, replies)
			}
			return
		default:
			if _, err = redis.Write(request); err == nil {
				var reply []byte
				if reply, err = readValue(replies); err == nil {
					_, err = client.Write(reply)
				}
			}
		}
		if err != nil {
			return
		}
	}
}

func subscribes(request []byte) bool {
	head := bytes.ToUpper(request[:min(len(request), 40)])
	return bytes.Contains(head, []byte("SUBSCRIBE\r\n"))
}

// readValue reads one value of the protocol, as it came.
func readValue(from *bufio.Reader) ([]byte, error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return nil, err
	}
	whole := []byte(line)
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$':
		if n >= 0 {
			body := make([]byte, n+2)
			_, err = io.ReadFull(from, body)
			whole = append(whole, body...)
		}
	case '*', '~', '>', '%':
		if line[0] == '%' {
			n *= 2
		}
		for range n {
			var part []byte
			if part, err = readValue(from); err != nil {
				break
			}
			whole = append(whole, part...)
		}
	}
	return whole, err
}
