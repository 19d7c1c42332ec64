package pages

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

func (s *Site) onQueue(v *visit.Visit, done string, do func(name string) error) error {
	name, err := v.Target("name")
	if err != nil {
		return err
	}
	return s.finish(v, once{target: name, done: fmt.Sprintf("Queue %q %s.", format.Shorten(name, 60), done),
		back: format.Link("queue", "name", name)}, do(name))
}

func (s *Site) pauseQueue(v *visit.Visit) error {
	return s.onQueue(v, "is paused: what runs goes on",
		func(name string) error {
			if err := v.KnownName(name); err != nil {
				return err
			}
			return v.Inspector.PauseQueue(v.Ctx(), name)
		})
}

func (s *Site) resumeQueue(v *visit.Visit) error {
	return s.onQueue(v, "goes on", func(name string) error { return v.Inspector.ResumeQueue(v.Ctx(), name) })
}

func (s *Site) pauseAll(v *visit.Visit) error {
	return s.finish(v, once{target: "all queues", done: "All queues are paused: what runs goes on.", back: "queues"},
		v.Inspector.PauseAll(v.Ctx()))
}

func (s *Site) resumeAll(v *visit.Visit) error {
	return s.finish(v, once{target: "all queues", done: "The pause of all queues has ended.", back: "queues"},
		v.Inspector.ResumeAll(v.Ctx()))
}

func (s *Site) setLimit(v *visit.Visit) error {
	return s.onQueue(v, "has another limit", func(name string) error {
		limit, err := limitOf(v)
		if err == nil {
			err = v.KnownName(name)
		}
		if err != nil {
			return err
		}
		return v.Inspector.SetLimit(v.Ctx(), name, limit)
	})
}

func (s *Site) resetLimit(v *visit.Visit) error {
	return s.onQueue(v, "has the limit that the code declares, or none",
		func(name string) error { return v.Inspector.ResetLimit(v.Ctx(), name) })
}

// limitOf reads what was typed; what is empty is not limited.
func limitOf(v *visit.Visit) (limit work.Limit, err error) {
	for _, field := range []struct {
		name string
		into *int
	}{{"concurrent", &limit.Concurrent}, {"rate", &limit.Rate}, {"burst", &limit.Burst}} {
		text := strings.TrimSpace(v.R.PostFormValue(field.name))
		if text == "" {
			continue
		}
		if *field.into, err = strconv.Atoi(text); err != nil {
			return limit, visit.BadRequest(fmt.Sprintf("%q is no number for %q", format.Shorten(text, 60), field.name))
		}
	}
	if text := strings.TrimSpace(v.R.PostFormValue("per")); text != "" && limit.Rate != 0 {
		if limit.Per, err = time.ParseDuration(text); err != nil {
			text = format.Shorten(text, 60)
			return limit, visit.BadRequest(fmt.Sprintf("%q is no duration: write 1s, 1m or 1h30m", text))
		}
	}
	return limit, nil
}
