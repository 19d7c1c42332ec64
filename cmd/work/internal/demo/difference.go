package demo

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/265d0351/work/cmd/work/internal/filetree"
	"github.com/265d0351/work/cmd/work/internal/human"
)

// difference is one thing that did not come out as it should have.
type difference struct {
	Subject string `json:"subject"`           // a path as it may be shown, or a job
	What    string `json:"what"`              // what is wrong with it
	Changed bool   `json:"changed,omitempty"` // the file itself changed while the demo ran
}

func (d difference) String() string { return d.Subject + ": " + d.What }

// comparison holds all that is needed to judge the results.
type comparison struct {
	list   filetree.Listing
	orders []order
	got    results
	plain  *filetree.PlainWalk
	log    *runLog
}

// differences returns everything that is wrong, in the order of the orders; nil means that all is well.
func (c *comparison) differences() []difference {
	var wrong []difference
	note := func(subject, what string, changed bool) {
		wrong = append(wrong, difference{Subject: subject, What: what, Changed: changed})
	}
	ordered := map[string]bool{}
	for _, o := range c.orders {
		if o.name == jobMeasure {
			ordered[c.list.Files[o.file].Path] = true
		}
		if what, changed := c.judge(o); what != "" {
			note(c.subject(o), what, changed)
		}
	}
	for path := range c.plain.Found {
		if !ordered[path] {
			note(human.Printable(path), "appeared while the demo ran, so it has no job", true)
		}
	}
	return wrong
}

func (c *comparison) subject(o order) string {
	if o.name == jobMeasure {
		return human.Printable(c.list.Files[o.file].Path)
	}
	return "job " + o.name + " " + o.id
}

// judge says what is wrong with one job, "" if nothing is.
func (c *comparison) judge(o order) (what string, changed bool) {
	if why, lost := c.got.lost[o.id]; lost {
		return "its job gave no result: " + why, false
	}
	if len(c.log.of(o.id)) == 0 {
		return "its job was never run", false
	}
	switch o.name {
	case jobFlaky:
		return judgeFlaky(o, c.got.attempts), false
	case jobScheduled:
		return judgeScheduled(o, c.got.punctual), false
	}
	return c.judgeFile(o)
}

const noResult = "its job has no result in Redis"

func judgeFlaky(o order, all map[string]attempts) string {
	result, there := all[o.id]
	switch want := o.failures + 1; {
	case !there:
		return noResult
	case result.Taken != want:
		return fmt.Sprintf("it took %d attempts, it should have taken %d", result.Taken, want)
	}
	return ""
}

func judgeScheduled(o order, all map[string]punctual) string {
	const rounding = time.Millisecond // delays are whole milliseconds in Redis
	result, there := all[o.id]
	if !there {
		return noResult
	}
	if early := o.placed.Add(o.delay).Sub(result.Ran); early > rounding {
		return fmt.Sprintf("it ran %s before it was due", early)
	}
	return ""
}

func (c *comparison) judgeFile(o order) (what string, changed bool) {
	listed := c.list.Files[o.file]
	job, there := c.got.measured[o.id]
	if !there {
		return noResult, false
	}
	plain, there := c.plain.Found[listed.Path]
	if !there {
		return "it vanished while the demo ran", true
	}
	if job == plain {
		return "", false
	}
	what = disagreement(job, plain)
	if hasChanged(listed, c.plain.Listed[listed.Path]) {
		return "it changed while the demo ran: " + what, true
	}
	return "the job and the plain walk disagree: " + what, false
}

func hasChanged(before filetree.File, after fs.FileInfo) bool {
	return before.Size != after.Size() || !before.Modified.Equal(after.ModTime())
}

// disagreement names what differs between two measurements of a file.
func disagreement(job, plain filetree.Measurement) string {
	if job.Problem != plain.Problem {
		return fmt.Sprintf("%s to the job, %s to the plain walk", cmp.Or(job.Problem, "readable"),
			cmp.Or(plain.Problem, "readable"))
	}
	var parts []string
	differ := func(what string, a, b any) {
		if a != b {
			parts = append(parts, fmt.Sprintf("%s %v and %v", what, a, b))
		}
	}
	differ("size", job.Size, plain.Size)
	differ("lines", job.Lines, plain.Lines)
	differ("words", job.Words, plain.Words)
	differ("SHA-256", prefix(job.SHA256), prefix(plain.SHA256))
	return strings.Join(parts, ", ")
}

// prefix is enough of a hash to be told from others by eye.
func prefix(sum string) string { return sum[:min(len(sum), 12)] }
