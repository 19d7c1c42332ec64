package rdb_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/rights"
	"github.com/265d0351/work/lua"
)

// recorder is a Driver that keeps the calls and answers none.
type recorder struct {
	redisconn.Driver
	calls []redisconn.Call
}

func (r *recorder) Pipeline(_ context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	r.calls = append(r.calls, calls...)
	return nil, errNoReply
}

// oneLane answers the first call with a hash of one lane, so that the script is called for it.
type oneLane struct {
	*recorder
	answered bool
}

func (o *oneLane) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if o.answered {
		return o.recorder.Pipeline(ctx, calls...)
	}
	o.answered = true
	return []redisconn.Reply{{Value: []any{[]byte("0"), []any{[]byte("lane"), []byte("1 2")}}}}, nil
}

// oneOutcome answers the first call with an outcome.
type oneOutcome struct {
	*recorder
	answered bool
}

func (o *oneOutcome) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if o.answered {
		return o.recorder.Pipeline(ctx, calls...)
	}
	o.answered = true
	outcome, _ := withDetails("done", "a", "x")
	return []redisconn.Reply{{Value: outcome}}, nil
}

// callsOfScripts has every method of Store and Worker that sends a script make its call, of two queues where it can.
func callsOfScripts() []redisconn.Call {
	r := &recorder{}
	store := rdb.NewStore(r, "ns")
	w := store.Worker("W")
	claims := []rdb.Claim{{Queue: "a", Element: "1:x"}, {Queue: "b", Element: "1:y"}}
	belongings := rdb.Belongings{Log: true, State: true, Completion: "c", Objects: []string{"sha"}}
	ignore := func(...any) {}
	ignore(store.Enqueue(background, "lane", 1, []rdb.NewJob{job("a", "x"), job("a", "y")}))
	ignore(store.Enqueue(background, "lane", 1, []rdb.NewJob{job("a", "x"), job("b", "y")}))
	ignore(store.Enqueue(background, "lane", 1, []rdb.NewJob{job("a", "x"),
		{Queue: "b", ID: "y", Objects: []string{"sha"}}}))
	ignore(w.Fetch(background, 1, 2, true, []rdb.Share{{Queue: "a", Jobs: 1}, {Queue: "b", Jobs: 1}}))
	ignore(w.Survey(background, 1, []string{"a", "b"}))
	ignore(store.Wake(background, []string{"a", "b"}))
	ignore(store.Due(background, rdb.ShelfRetry,
		rdb.DueCall{Move: []rdb.Waiting{{ID: "x", Queue: "a"}, {ID: "y", Queue: "b"}}}))
	ignore(store.Due(background, rdb.ShelfScheduled, rdb.DueCall{}))
	ignore(w.Register(background, rdb.Registration{Queues: []string{"a"}}))
	ignore(w.Beat(background, conn{r}, rdb.Beat{}))
	ignore(w.DeclareDead(background, time.Second, "T", "U"))
	ignore(store.OverdueWorkers(background, time.Second, 10))
	ignore(w.Forget(background, []string{"a", "b"}, "stopped {}"))
	ignore(store.ReturnClaim(background, rdb.Holding{ID: "x", Worker: "W", Queue: "a", Number: "1"}))
	ignore(store.RemoveExpiredOutcomes(background,
		[]string{`{"state":"done","name":"a"`, `{"state":"done","name":"b"`}))
	callsOfControls(store)
	callsOfTelling(store)
	ignore(w.Suspect(background, claims[0]))
	ignore(w.NotePrefetch(background, 5))
	ignore(w.DeclareAlive(background, []string{"x", "y"}))
	ignore(w.Begin(background, claims[0], "digest"))
	ignore(store.Amend(background, rdb.Amendment{ID: "x"}))
	ignore(w.Restore(background, 1, 1, []rdb.Held{{Claim: claims[0], ID: "x"}, {Claim: claims[1], ID: "y"}}))
	callsOfMending(r)
	callsOfLimits(r)
	callsOfCancelling(r)
	callsOfLooking(r)
	callsOfFeeds(r)
	callsOfScheduling(store)
	callsOfObjects(r)
	callsOfAwaiting(r)
	callsOfLongJobs(r)
	callsOfTallies(r)
	callsOfServing(w)
	callsOfDividing(r)
	callsOfMoving(r)
	callsOfFlows(r)
	ignore(rdb.NewStore(&oneLane{recorder: r}, "ns").RemoveStaleLanes(background, "", time.Second))
	ignore(rdb.NewStore(&oneLane{recorder: r}, "ns").FreeLocks(background, ""))
	ignore(rdb.NewStore(&oneOutcome{recorder: r}, "ns").DropOutcome(background, "x"))
	calls := append(r.calls, rights.Worker.Question("ns"), rights.NoteCall("ns", "W", "HDEL"))
	calls = append(calls, store.NoteSettled(rdb.LaneCall{Lane: "lane", Number: 1}),
		store.WitnessCall([]string{"lane", "other"}), w.Complete(ended(claims...)),
		w.End(claims[0], rdb.Ending{ID: "x", Queue: "a", Belongings: belongings}),
		w.Release(rdb.Released{Queue: "a", Elements: elements(claims)}))
	for _, shelf := range []rdb.Shelf{rdb.ShelfRetry, rdb.ShelfScheduled, rdb.ShelfMorgue} {
		calls = append(calls, w.Shelve(rdb.Shelved{Claim: claims[0], Shelf: shelf, Completion: "c"}))
	}
	calls = append(calls, w.Shelve(rdb.Shelved{Claim: claims[0], Shelf: rdb.ShelfScheduled,
		Wait: rdb.Wait{Digest: "d", Message: "mail"}}))
	return calls
}

func TestCallersPassTheKeysThatTheHeadersName(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i, call := range callsOfScripts() {
		require.NotNil(t, call.Script, "%+v", call)
		seen[call.Script.Name] = true
		if at := slices.Index(call.Keys, "{ns}:scheduled"); call.Script.Name == "job/enqueue_mixed" && at > 0 {
			assert.Equal(t, []string{"{ns}:scheduled", "{ns}:names", "{ns}:control", "{ns}:unique", "{ns}:objects",
				"{ns}:outcomes", "{ns}:outcomes:until", "{ns}:object:sha:jobs"}, call.Keys[at:])
			call.Keys = call.Keys[:at] // those of each queue end here
		}
		t.Run(fmt.Sprintf("%d %s", i, call.Script.Name), func(t *testing.T) {
			t.Parallel()
			header := parseHeader(t, call.Script.Name)
			wanted := header.patterns(len(call.Keys))
			require.Len(t, call.Keys, len(wanted))
			for i, key := range call.Keys {
				require.True(t, strings.HasPrefix(key, "{ns}:"), key)
				assert.Regexp(t, wanted[i], strings.TrimPrefix(key, "{ns}:"), "KEYS[%d]", i+1)
			}
			assert.GreaterOrEqual(t, len(call.Args), header.args, "ARGV")
		})
	}
	assert.Empty(t, scriptsBut(t, seen), "add the methods that send these scripts to callsOfScripts")
}

// scriptsBut are the scripts of lua/ that were not seen.
func scriptsBut(t *testing.T, seen map[string]bool) []string {
	t.Helper()
	files, err := filepath.Glob("../../lua/*/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return slices.DeleteFunc(files, func(file string) bool {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "../../lua/"), ".lua")
		return strings.HasPrefix(name, "thoonk/") || strings.HasPrefix(name, "worqr/") || seen[name]
	})
}

// header is what the head of a script says of its KEYS and ARGV.
type header struct {
	fixed    []string // a pattern for each key
	repeated []string // patterns of the group that follows for each queue
	args     int      // how many ARGV there are at the least
}

var (
	keyName    = regexp.MustCompile(`<[a-z]+>`)
	timeInName = strings.NewReplacer("<ms>", "[0-9]+", "<day>", "[0-9-]{10}", "<hour>", "[0-9-]{10}T[0-9]{2}",
		"<minute>", "[0-9-]{10}T[0-9:]{5}")
)

// parseHeader reads "KEYS[1] claimed, KEYS[2] retry or scheduled" and "KEYS[7..] queue:<name>, wake:<name> of each
// queue".
func parseHeader(t *testing.T, script string) header {
	t.Helper()
	source, err := lua.Source(script)
	require.NoError(t, err)
	_, source, _ = strings.Cut("\n"+source, "\n-- "+script+":")
	var keys, args strings.Builder
	in := &keys
	for _, line := range strings.Split(source, "\n")[1:] {
		line, comment := strings.CutPrefix(line, "--")
		if !comment || strings.HasPrefix(line, " RETURNS") {
			break
		}
		if strings.HasPrefix(line, " ARGV") {
			in = &args
		}
		in.WriteString(line)
	}
	var h header
	for _, entry := range strings.Split(keys.String(), "KEYS[")[1:] {
		number, names, found := strings.Cut(entry, "] ")
		require.True(t, found, entry)
		if strings.HasSuffix(number, "..") {
			names, _, _ = strings.Cut(names, " of each")
			for _, name := range strings.Split(names, ", ") {
				h.repeated = append(h.repeated, pattern(name))
			}
			number = strings.TrimSuffix(number, "..")
			require.Equal(t, strconv.Itoa(len(h.fixed)+1), number)
			break
		}
		require.Equal(t, strconv.Itoa(len(h.fixed)+1), number)
		h.fixed = append(h.fixed, pattern(strings.TrimRight(names, ", ")))
	}
	h.args = strings.Count(args.String(), "ARGV[") - strings.Count(args.String(), "..]")
	return h
}

// pattern makes one of "retry, scheduled or morgue" or "worker:<id>:info".
func pattern(names string) string {
	names = strings.ReplaceAll(names, ", ", " or ")
	alternatives := strings.Split(names, " or ")
	for i, name := range alternatives {
		alternatives[i] = keyName.ReplaceAllString(timeInName.Replace(strings.TrimSpace(name)), "[a-zA-Z/]+")
	}
	return "^(" + strings.Join(alternatives, "|") + ")$"
}

// patterns are those for so many keys.
func (h header) patterns(keys int) []string {
	all := append([]string{}, h.fixed...)
	for len(h.repeated) > 0 && len(all) < keys {
		all = append(all, h.repeated...)
	}
	return all
}
