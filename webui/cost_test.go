package webui

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// A page asks for what it shows: with twenty times the jobs it sends no more than what is noise.
func TestPagesAskNoMoreWhereMoreJobsAre(t *testing.T) {
	t.Parallel()
	redis := redistest.Dedicated(t)
	pages := []string{"", "queues", "queue?name=mail", "jobs?state=queued&name=mail", "jobs?state=scheduled",
		"jobs?state=scheduled&newest=1", "job?id=mail-0", "errors", "workers", "schedules", "history", "redis"}
	cost := func(jobs int) []int {
		k := newKit(t, redis.Server())
		k.fill(jobs)
		asked := make([]int, len(pages))
		for i, page := range pages {
			before := commands(t, redis.Addr())
			require.Equal(t, 200, k.get(page).StatusCode, page)
			asked[i] = commands(t, redis.Addr()) - before
		}
		return asked
	}
	few, many := cost(200), cost(4000)
	for i, page := range pages {
		assert.LessOrEqual(t, many[i], few[i]*3/2+10, "/%s", page)
		assert.Less(t, many[i], 3000, "/%s", page)
	}
}

// fill enqueues so many jobs for now and for later.
func (k *kit) fill(jobs int) {
	k.t.Helper()
	entries := make([]work.Entry, 0, 2*jobs)
	for i := range jobs {
		entries = append(entries, work.Entry{Name: "mail",
			Options: []work.EnqueueOption{work.ID(fmt.Sprintf("mail-%d", i))}},
			work.Entry{Name: "later", In: time.Hour})
	}
	_, err := k.enq.EnqueueMany(k.ctx(), entries)
	require.NoError(k.t, err)
}

var calls = regexp.MustCompile(`calls=(\d+)`)

// commands is how many the server has run, those inside of scripts too.
func commands(t *testing.T, addr string) int {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, testPatience)
	require.NoError(t, err)
	defer conn.Close() //lint:ignore errcheck nothing is lost
	require.NoError(t, conn.SetDeadline(time.Now().Add(testPatience)))
	_, err = conn.Write([]byte("INFO commandstats\r\n"))
	require.NoError(t, err)
	var length int
	_, err = fmt.Fscanf(conn, "$%d\r\n", &length)
	require.NoError(t, err)
	text := make([]byte, length)
	for n := 0; n < length; {
		got, err := conn.Read(text[n:])
		require.NoError(t, err)
		n += got
	}
	sum := 0
	for _, m := range calls.FindAllSubmatch(text, -1) {
		n, err := strconv.Atoi(string(m[1]))
		require.NoError(t, err)
		sum += n
	}
	return sum
}
