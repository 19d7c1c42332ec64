package worqr_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheReplayIsWhatTheReleasedProgramSends, command by command, in the order in which they were recorded.
func TestTheReplayIsWhatTheReleasedProgramSends(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/released-1.2.3.txt")
	require.NoError(t, err)
	_, recorded, found := strings.Cut(string(file), "\n\n")
	require.True(t, found)
	onEach(t, func(t *testing.T, s *site) {
		r := newReleased(s)
		var replayed []string
		section := func(name string, send func()) {
			*r.sent = nil
			send()
			replayed = append(replayed, "## "+name+"\n"+strings.Join(*r.sent, "\n"))
		}
		process := ""
		dequeue := func() { process, _ = r.dequeue("a", "q", "<uuid>") }
		section("startWorker", func() { r.startWorker("a") })
		section("startWorker permanent", func() { r.startPermanentWorker("d") })
		section("startWork", func() { r.startWork("a", "q") })
		section("enqueue", func() { r.enqueue("q", "t") })
		section("enqueue several", func() { r.enqueue("q", "t1", "t2") })
		section("enqueue unique", func() { assert.True(t, r.enqueueUnique("q", "u", nil)) })
		section("enqueue unique again", func() { assert.False(t, r.enqueueUnique("q", "u", nil)) })
		section("startWork with tasks", func() { r.startWork("d", "q") })
		section("getQueues", func() { assert.Len(t, r.queues(), 1) })
		section("getWorkers", func() { assert.ElementsMatch(t, []string{"a", "d"}, r.workers()) })
		section("peekQueue", func() { assert.Equal(t, "t", r.peek("q")) })
		section("countQueue", func() { assert.Equal(t, int64(4), r.count("q")) })
		section("getTasks", func() { assert.Equal(t, []string{"u", "t2", "t1", "t"}, r.tasks("q")) })
		section("requestWork", func() { r.requestWork("q") })
		section("dequeue", dequeue)
		section("getMatchingProcesses", func() { assert.Equal(t, []string{process}, r.matching("t")) })
		section("stopProcess", func() { r.stop(process) })
		dequeue()
		section("finishProcess", func() { r.finish("a", process, "") })
		dequeue()
		section("finishProcess with a result", func() { r.finish("a", process, `{"k":1}`) })
		section("cancelTasks", func() { r.cancel("q", "t") })
		dequeue()
		section("stopWork", func() { r.stopWork("a", "q") })
		r.startWork("a", "q")
		dequeue()
		section("keepWorkerAlive", func() { assert.True(t, r.keepAlive("a")) })
		section("failWorker", func() { r.failWorker("a") })
		section("keepWorkerAlive when it was failed", func() { assert.False(t, r.keepAlive("a")) })
		section("deleteQueue", func() { r.deleteQueue("q") })
		section("dequeue of nothing", func() { r.dequeue("d", "q", "<uuid>") })
		section("dequeue without startWork", func() { r.dequeue("b", "q", "<uuid>") })
		r.startWorker("a", "q")
		r.enqueue("q", "t")
		dequeue()
		s.lapse("a")
		section("cleanupWorkers", r.cleanup)
		assert.Equal(t, strings.TrimSpace(recorded), strings.Join(replayed, "\n\n"))
	})
}
