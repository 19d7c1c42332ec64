package demo

import (
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/filetree"
)

// stat makes the FileInfo of a file of that size.
func stat(t *testing.T, size int) fs.FileInfo {
	t.Helper()
	info, err := fstest.MapFS{"f": {Data: make([]byte, size), ModTime: at(0)}}.Stat("f")
	require.NoError(t, err)
	return info
}

// agreed is a comparison of one job of each type in which all is well.
func agreed(t *testing.T) *comparison {
	m := filetree.Measurement{Size: 3, Lines: 1, Words: 1, SHA256: "0123456789abcdef"}
	c := &comparison{
		list: filetree.Listing{Files: []filetree.File{{Path: "f", Size: 3, Modified: at(0)}}},
		orders: []order{{id: "m", name: jobMeasure}, {id: "x", name: jobFlaky, failures: 2},
			{id: "s", name: jobScheduled, delay: time.Second, placed: at(0)}},
		got: results{measured: map[string]filetree.Measurement{"m": m}, attempts: map[string]attempts{"x": {Taken: 3}},
			punctual: map[string]punctual{"s": {Ran: at(1000)}}, lost: map[string]string{}},
		plain: &filetree.PlainWalk{Found: map[string]filetree.Measurement{"f": m},
			Listed: map[string]fs.FileInfo{"f": stat(t, 3)}},
		log: newRunLog(),
	}
	for _, o := range c.orders {
		c.log.add(mark{What: begun, ID: o.id, At: at(0)})
	}
	return c
}

// spoiled are the ways in which what was agreed can go wrong, and what is then said.
var spoiled = []struct {
	name  string
	spoil func(*testing.T, *comparison)
	want  []difference
}{
	{"none", func(*testing.T, *comparison) {}, nil},
	{"a wrong count", func(_ *testing.T, c *comparison) {
		c.got.measured["m"] = filetree.Measurement{Size: 3, Lines: 2, Words: 1, SHA256: "0123456789abcdef"}
	}, []difference{{Subject: "f", What: "the job and the plain walk disagree: lines 2 and 1"}}},
	{"a wrong hash", func(_ *testing.T, c *comparison) {
		c.got.measured["m"] = filetree.Measurement{Size: 3, Lines: 1, Words: 1, SHA256: "fedcba9876543210"}
	}, []difference{{Subject: "f",
		What: "the job and the plain walk disagree: SHA-256 fedcba987654 and 0123456789ab"}}},
	{"changed meanwhile", func(t *testing.T, c *comparison) {
		c.plain.Found["f"] = filetree.Measurement{Size: 5, Lines: 1, Words: 2, SHA256: "fedcba9876543210"}
		c.plain.Listed["f"] = stat(t, 5)
	}, []difference{{Subject: "f", Changed: true,
		What: "it changed while the demo ran: size 3 and 5, words 1 and 2, SHA-256 0123456789ab and fedcba987654"}}},
	{"changed before the job ran, which saw the change", func(t *testing.T, c *comparison) {
		m := filetree.Measurement{Size: 5}
		c.got.measured["m"], c.plain.Found["f"], c.plain.Listed["f"] = m, m, stat(t, 5)
	}, nil},
	{"unreadable to both", func(_ *testing.T, c *comparison) {
		c.got.measured["m"] = filetree.Measurement{Problem: "permission denied"}
		c.plain.Found["f"] = filetree.Measurement{Problem: "permission denied"}
	}, nil},
	{"unreadable to one", func(_ *testing.T, c *comparison) {
		c.got.measured["m"] = filetree.Measurement{Problem: "permission denied"}
	}, []difference{{Subject: "f",
		What: "the job and the plain walk disagree: permission denied to the job, readable to the plain walk"}}},
	{"vanished", func(_ *testing.T, c *comparison) {
		delete(c.plain.Found, "f")
	}, []difference{{Subject: "f", What: "it vanished while the demo ran", Changed: true}}},
	{"appeared", func(_ *testing.T, c *comparison) {
		c.plain.Found["new\n"] = filetree.Measurement{}
	}, []difference{{Subject: `"new\n"`, What: "appeared while the demo ran, so it has no job", Changed: true}}},
	{"no result", func(_ *testing.T, c *comparison) {
		delete(c.got.measured, "m")
	}, []difference{{Subject: "f", What: noResult}}},
	{"buried", func(_ *testing.T, c *comparison) {
		c.got.lost["m"] = "too many crashes"
	}, []difference{{Subject: "f", What: "its job gave no result: too many crashes"}}},
	{"never run", func(_ *testing.T, c *comparison) {
		delete(c.log.runs, "m")
	}, []difference{{Subject: "f", What: "its job was never run"}}},
	{"too few attempts", func(_ *testing.T, c *comparison) {
		c.got.attempts["x"] = attempts{Taken: 1}
	}, []difference{{Subject: "job flaky x", What: "it took 1 attempts, it should have taken 3"}}},
	{"too early", func(_ *testing.T, c *comparison) {
		c.got.punctual["s"] = punctual{Ran: at(900)}
	}, []difference{{Subject: "job scheduled s", What: "it ran 100ms before it was due"}}},
	{"scheduled without result", func(_ *testing.T, c *comparison) {
		delete(c.got.punctual, "s")
	}, []difference{{Subject: "job scheduled s", What: noResult}}},
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, row := range spoiled {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := agreed(t)
			row.spoil(t, c)
			assert.Equal(t, row.want, c.differences())
		})
	}
}
