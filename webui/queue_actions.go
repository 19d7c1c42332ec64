package webui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work"
)

func (v *visit) onQueue(done string, do func(name string) error) error {
	name, err := v.target("name")
	if err != nil {
		return err
	}
	return v.finish(once{target: name, done: fmt.Sprintf("Queue %q %s.", shorten(name, 60), done),
		back: link("queue", "name", name)}, do(name))
}

func pauseQueue(v *visit) error {
	return v.onQueue("is paused: what runs goes on",
		func(name string) error { return v.inspector.PauseQueue(v.ctx(), name) })
}

func resumeQueue(v *visit) error {
	return v.onQueue("goes on", func(name string) error { return v.inspector.ResumeQueue(v.ctx(), name) })
}

func pauseAll(v *visit) error {
	return v.finish(once{target: "all queues", done: "All queues are paused: what runs goes on.", back: "queues"},
		v.inspector.PauseAll(v.ctx()))
}

func resumeAll(v *visit) error {
	return v.finish(once{target: "all queues", done: "The pause of all queues has ended.", back: "queues"},
		v.inspector.ResumeAll(v.ctx()))
}

func setLimit(v *visit) error {
	return v.onQueue("has another limit", func(name string) error {
		limit, err := v.limit()
		if err != nil {
			return err
		}
		return v.inspector.SetLimit(v.ctx(), name, limit)
	})
}

func resetLimit(v *visit) error {
	return v.onQueue("has the limit that the code declares, or none",
		func(name string) error { return v.inspector.ResetLimit(v.ctx(), name) })
}

// limit reads what was typed; what is empty is not limited.
func (v *visit) limit() (limit work.Limit, err error) {
	for _, field := range []struct {
		name string
		into *int
	}{{"concurrent", &limit.Concurrent}, {"rate", &limit.Rate}, {"burst", &limit.Burst}} {
		text := strings.TrimSpace(v.r.PostFormValue(field.name))
		if text == "" {
			continue
		}
		if *field.into, err = strconv.Atoi(text); err != nil {
			return limit, badRequest(fmt.Sprintf("%q is no number for %q", shorten(text, 60), field.name))
		}
	}
	if text := strings.TrimSpace(v.r.PostFormValue("per")); text != "" && limit.Rate != 0 {
		if limit.Per, err = time.ParseDuration(text); err != nil {
			return limit, badRequest(fmt.Sprintf("%q is no duration: write 1s, 1m or 1h30m", shorten(text, 60)))
		}
	}
	return limit, nil
}
