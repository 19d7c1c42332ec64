package rdb_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// What the program pays for the answer to a fetch, from the bytes of the connection to claims with their records: the
// whole of Worker.Fetch, against a server that answers the same each time and does nothing else.
func BenchmarkFetchReply(b *testing.B) {
	for _, c := range []struct{ queues, jobs int }{{1, 1}, {10, 20}, {10, 200}, {1, 500}} {
		b.Run(fmt.Sprintf("queues=%d/jobs=%d", c.queues, c.jobs), func(b *testing.B) {
			shares := make([]rdb.Share, c.queues)
			for i := range shares {
				shares[i] = rdb.Share{Queue: fmt.Sprint("q", i), Jobs: c.jobs / c.queues}
			}
			reply := fetchReply(c.queues, c.jobs)
			store := parrot(b, reply)
			w := store.Worker(strings.Repeat("w", rdb.MinWorkerID))
			number := int64(0)
			b.SetBytes(int64(len(reply)))
			b.ReportAllocs()
			for b.Loop() {
				number++
				fetched, err := w.Fetch(b.Context(), number, c.jobs, false, shares)
				if err != nil || len(fetched.Jobs) != c.jobs {
					b.Fatal(len(fetched.Jobs), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.jobs), "ns/job")
		})
	}
}

// What it pays for a call that enqueues 500 jobs: mostly for the request, since the answer is a line.
func BenchmarkEnqueueCall(b *testing.B) {
	jobs := make([]rdb.NewJob, rdb.MaxBatch)
	for i := range jobs {
		jobs[i] = rdb.NewJob{Queue: fmt.Sprint("q", i%10), ID: fmt.Sprintf("%016x", i), Place: rdb.Back,
			Record: benchmarkRecord}
	}
	store := parrot(b, []byte("$13\r\n1732100000000\r\n"))
	number := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		number++
		if _, err := store.Enqueue(b.Context(), "lane", number, jobs); err != nil {
			b.Fatal(err)
		}
	}
}

// fetchReply is what Redis answers to a fetch, with records of 99 bytes.
func fetchReply(queues, jobs int) []byte {
	var out bytes.Buffer
	array := func(n int) { fmt.Fprintf(&out, "*%d\r\n", n) }
	bulk := func(text string) { fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(text), text) }
	array(5 + queues)
	bulk("ok")
	out.WriteString(":1732100000000\r\n$-1\r\n*0\r\n:0\r\n")
	for range queues {
		each := jobs / queues
		array(4)
		array(each)
		for i := range each {
			bulk(fmt.Sprintf("%016x", i))
		}
		array(each)
		for range each {
			bulk(string(benchmarkRecord))
		}
		out.WriteString("$-1\r\n$-1\r\n")
	}
	return out.Bytes()
}

// parrot is a store on a server that answers every request alike.
func parrot(b *testing.B, reply []byte) *rdb.Store {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			answerAll(conn, reply)
		}
	}()
	driver, err := redisconn.Open("redis://" + listener.Addr().String())
	require.NoError(b, err)
	b.Cleanup(func() {
		require.NoError(b, driver.Close())
		require.NoError(b, listener.Close())
		<-done
	})
	return rdb.NewStore(driver, "bench")
}

// answerAll reads requests, of which it looks at the lengths only, until the connection ends. It allocates nothing: its
// allocations would be counted as those of the program.
func answerAll(conn net.Conn, reply []byte) {
	defer conn.Close() //lint:ignore errcheck the other side has closed it
	in := bufio.NewReader(conn)
	for {
		words, err := length(in)
		for range words {
			n, headErr := length(in)
			if _, bodyErr := in.Discard(n + len("\r\n")); headErr != nil || bodyErr != nil {
				return
			}
		}
		if err != nil {
			return
		}
		if _, err := conn.Write(reply); err != nil {
			return
		}
	}
}

// length reads a line as "*3" or "$16".
func length(in *bufio.Reader) (n int, err error) {
	line, err := in.ReadSlice('\n')
	for _, char := range line {
		if char >= '0' && char <= '9' {
			n = 10*n + int(char-'0')
		}
	}
	return n, err
}
