package webui

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// TestAJobLinksToTheOneThatEnqueuedIt: the id of a parent may have what HTML and addresses need escaped.
func TestAJobLinksToTheOneThatEnqueuedIt(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1,
			work.WorkerOptions{Redis: s.DSN(), Namespace: k.namespace, Logger: slog.New(slog.DiscardHandler),
				EnqueueNames: []string{"ship"}}).
			Job("order", func(ctx context.Context) error {
				_, err := work.EnqueuerFromContext(ctx).With(work.ID("child")).EnqueueIn(ctx, "ship", time.Hour)
				return err
			})
		k.enqueue("<order&7>", "order")
		require.NoError(t, pool.Start(k.ctx()))
		require.NoError(t, pool.Drain(k.ctx()))
		require.NoError(t, pool.Stop(k.ctx()))
		assert.Contains(t, k.get("job?id=child").Text,
			`<dt>Enqueued by</dt><dd><a href="job?id=%3Corder%267%3E">&lt;order&amp;7&gt;</a></dd>`)
		k.schedule("alone", "ship")
		assert.NotContains(t, k.get("job?id=alone").Text, "Enqueued by")
		var job struct{ Parent string }
		k.read("job?id=child", &job)
		assert.Equal(t, "<order&7>", job.Parent)
	})
}
