package columns

import (
	"cmp"
	"strings"
	"time"

	"github.com/265d0351/work/inspect"
)

// Stopped are those by which they can be sorted; without one the last one comes first.
var Stopped = []Column[inspect.StoppedWorker]{
	Text("id", "Worker", func(r *inspect.StoppedWorker) string { return r.ID }),
	Time("ended", "Ended", func(r *inspect.StoppedWorker) time.Time { return r.Ended }).Down(),
	Text("why", "Why", func(r *inspect.StoppedWorker) string { return r.Why }),
	By("host", "Host", func(a, b *inspect.StoppedWorker) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID))
	}),
	Number("done", "Done", func(r *inspect.StoppedWorker) int64 { return r.Ran.Done }).Says("attempts"),
	Number("failed", "Failed", func(r *inspect.StoppedWorker) int64 { return r.Ran.Failed }).Says("attempts"),
	Number("dead", "Dead", func(r *inspect.StoppedWorker) int64 { return r.Ran.Dead }).Says("jobs that died"),
	Number("held", "What it held", func(r *inspect.StoppedWorker) int { return r.Held }).Left().
		Says("when it died; others have run them since"),
}
