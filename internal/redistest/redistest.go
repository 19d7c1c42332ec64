// Package redistest runs a test on the embedded Redis and on a real one.
//
// A package's TestMain is redistest.Main(m): it stops what was started and fails when a goroutine is left. A test is
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		redistest.Each(t, func(t *testing.T, s redistest.Server) {
//			use(s.DSN(), redistest.Namespace(t))
//		})
//	}
//
// The real Redis is the one of WORK_REDIS_ADDR (on loopback); else the server program of WORK_REDIS_SERVER, or a
// redis-server on PATH; else, in test packages that bring Containers, a container. It is one per test process and
// shared by its tests. WORK_TEST_REDIS=server, docker or embedded forces a way. Where there is none the tests are
// skipped with the reason, or fail with WORK_REQUIRE_REDIS=1.
package redistest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/265d0351/work/embedded"
)

// Server is the Redis that a test runs on.
type Server struct {
	addr  string
	clock *embedded.Server
}

// DSN is the server's database 0. The embedded one is given time: its Lua is slow where many tests share a processor.
func (s Server) DSN() string {
	if s.clock != nil {
		return s.DSNWith("read_timeout=30s")
	}
	return "redis://" + s.addr + "/0"
}

// DSNWith is the server's database 0 with parameters, as "read_timeout=1s".
func (s Server) DSNWith(query string) string { return "redis://" + s.addr + "/0?" + query }

// Addr is host and port, for a Proxy or a plain connection.
func (s Server) Addr() string { return s.addr }

// Embedded is the embedded server, the test's own, or nil on a real Redis.
func (s Server) Embedded() *embedded.Server { return s.clock }

// Rounds is how many rounds a test of chance makes on the embedded Redis, or on a real one where it is nil: many on the
// real one, which needs less of the processor for each, and few beside it. Without a real one the embedded one makes
// them all. The race detector slows the test itself down, so it gets few.
func Rounds(on *embedded.Server, many, few int) int {
	if on == nil && RaceDetector || on != nil && sharedRuns() {
		return few
	}
	return many
}

// Tests are those of a package: a *testing.M, or what ends things of its own behind one.
type Tests interface{ Run() int }

// Main is the TestMain of a package: Run, then exit.
func Main(m Tests) { os.Exit(Run(m)) }

// Run runs the tests, stops the servers that they started, and fails if a goroutine is left.
func Run(m Tests) int {
	waitTogether()
	heap := make([]byte, ballast)
	code := m.Run()
	runtime.KeepAlive(heap)
	stopShared()
	embedded.CloseShared()
	if code != 0 {
		return code // a failed test leaves things behind: the leak would hide the reason
	}
	err := goleak.Find()
	for deadline := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(deadline); err = goleak.Find() {
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "redistest: goroutines are left after all tests:", err)
		return 1
	}
	return 0
}

// waitTogether lets more tests run side by side than there are processors: most of what they do is wait for Redis. The
// flag -parallel still has the last word.
func waitTogether() {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))) // a number is always taken
	}
}

// ballast is memory that is never touched, so it takes none of the machine's, but counts as heap: the next collection
// of garbage comes when as much again is in use. The embedded Redis makes a Lua interpreter for each script, and the
// small heap of most tests was collected so often that it took a third of the processor time. (A larger GOGC would do
// the same for the few tests that need gigabytes.)
const ballast = 128 << 20

// LeftByRace is the reason that a test on the embedded Redis was skipped by the race detector's run: the Lua of that
// Redis is some ten times slower under it, so that tests run out of patience, and the code that races is the same on
// both.
const LeftByRace = "left to the run without the race detector"

// Each runs test as the parallel subtests "embedded", on a server of its own, and "redis", on the shared one. They
// run after the calling test function has returned. Under the race detector only "redis" runs, where there is one.
func Each(t *testing.T, test func(t *testing.T, s Server)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		if RaceDetector && sharedRuns() {
			t.Skip(LeftByRace)
		}
		t.Parallel()
		test(t, Embedded(t))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, Real(t))
	})
}

// SkipUnderRace leaves a test to the run without the race detector, and says why.
func SkipUnderRace(t testing.TB, reason string) {
	t.Helper()
	if RaceDetector {
		t.Skip(LeftByRace + ": " + reason)
	}
}

// Embedded starts an embedded Redis for the test.
func Embedded(t testing.TB) Server {
	t.Helper()
	s, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return Server{addr: s.Addr(), clock: s}
}

// Real is the shared real Redis. Without one the test is skipped, or fails if it is required.
func Real(t testing.TB) Server {
	t.Helper()
	sharedRuns()
	if asked := os.Getenv("WORK_TEST_REDIS"); shared.err != nil && asked != "" && asked != "embedded" {
		t.Fatalf("WORK_TEST_REDIS=%s: %v", asked, shared.err)
	}
	if shared.err != nil {
		Missing(t, shared.err)
	}
	return Server{addr: shared.addr}
}

// sharedRuns starts the shared real Redis at the first call, and tells whether there is one.
func sharedRuns() bool {
	shared.once.Do(func() { shared.addr, shared.stop, shared.err = startShared() })
	return shared.err == nil
}

// Missing ends the test: there is no real Redis for it. It fails if one is required, else it is skipped.
func Missing(t testing.TB, reason error) {
	t.Helper()
	if os.Getenv("WORK_REQUIRE_REDIS") == "1" {
		t.Fatalf("WORK_REQUIRE_REDIS=1, but no real Redis: %v", reason)
	}
	t.Skipf("no real Redis: %v", reason)
}

var shared struct {
	once sync.Once
	addr string
	stop func()
	err  error
}

func stopShared() {
	if shared.stop != nil {
		shared.stop()
	}
}

var namespaces atomic.Int64

// Namespace is one that no other test has, in this process or another, readable in a dump of the keys.
func Namespace(t testing.TB) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, t.Name())
	return fmt.Sprintf("%.60s-%d-%d", name, os.Getpid(), namespaces.Add(1))
}
