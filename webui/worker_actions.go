package webui

import (
	"context"
	"fmt"
	"time"
)

// pingPatience is how long a page waits for a worker.
const pingPatience = 5 * time.Second

func (v *visit) onWorker(done string, do func(ctx context.Context, id string) error) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	return v.finish(once{target: id, done: fmt.Sprintf("Worker %s %s.", shorten(id, 60), done), back: "workers"},
		do(v.ctx(), id))
}

func pauseWorker(v *visit) error {
	return v.onWorker("fetches no more until it is resumed", v.inspector.PauseWorker)
}

func resumeWorker(v *visit) error { return v.onWorker("fetches again", v.inspector.ResumeWorker) }

func quietWorker(v *visit) error {
	return v.onWorker("fetches no more for the rest of its life", v.inspector.QuietWorker)
}

func stopWorker(v *visit) error { return v.onWorker("was told to stop", v.inspector.StopWorker) }

func pingWorker(v *visit) error {
	id, err := v.target("id")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(v.ctx(), pingPatience)
	defer cancel()
	took, err := v.inspector.Ping(ctx, id)
	return v.finish(once{target: id, done: fmt.Sprintf("Worker %s answered within %s.", shorten(id, 60), span(took)),
		back: "workers"}, err)
}
