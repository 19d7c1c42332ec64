package rdb_test

import (
	"testing"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// lasting are the uses of the scripts of long jobs. a2 has a past, so its trail changes.
func lasting() []transition {
	note := rdb.Note{Trail: []byte("news"), Fuller: []byte("more news")}
	claim := rdb.Claim{Queue: "a", Element: "1:a2"}
	return []transition{
		{name: "log", script: "job/log", prepare: holding, storing: true,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return sendLog(store, rdb.LogBatch{Claim: claim, ID: "a2", Number: 1, Note: note,
					Lines: [][]byte{[]byte("x"), []byte("y")}})
			}},
		{name: "save", script: "job/save", prepare: holding, storing: true,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return store.Worker("w1").
					SaveState(background, rdb.SavedState{Claim: claim, ID: "a2", Number: 1, Note: note,
						JSON: []byte("7")})
			}},
		{name: "steps", script: "job/step", prepare: holding, storing: true, send: writeSteps},
		{name: "steps in place of an earlier job's", script: "job/step", prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "HSET", "steps:a2", "", "other 9", "one", "done 1 2 int\n3")
		}, send: writeSteps},
		{name: "a wait, noted", script: "job/receive", prepare: holding, timed: true, send: askWait(0)},
		{name: "a wait that is over", script: "job/receive", prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "HSET", "steps:a2", "", digest+" 10", "mail", "wait 1")
		}, timed: true, send: askWait(0)},
		{name: "a message, taken", script: "job/receive", prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "HSET", "steps:a2", "", digest+" 10", "mail", "wait 0")
			s.cmd(t, "RPUSH", "mail:a2", digest+" 30", "5 other\x001", "5 mail\x002", "6 mail\x003")
		}, timed: true, send: askWait(time.Hour)},
		{name: "a message, sent", script: "job/send", prepare: holding, timed: true, storing: true, send: sendTo("a2")},
		{name: "a message, sent to one that waits", script: "job/send", prepare: parked, timed: true, storing: true,
			send: sendTo("a2")},
		{name: "steps, forgotten", script: "inspect/forget_steps", prepare: func(t *testing.T, s *site) {
			parked(t, s)
		}, timed: true, send: func(_ *site, store *rdb.Store) (any, error) {
			_, done, err := store.ForgetSteps(background, "a2")
			return done, err
		}},
		{name: "mailboxes of no job, removed", script: "repair/remove_mail", prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "HSET", "mailed", "a2", "5", "gone", "5")
			s.cmd(t, "RPUSH", "mail:a2", "x")
			s.cmd(t, "RPUSH", "mail:gone", "x")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			next, _, err := store.RemoveJoblessMail(background, "")
			return next, err
		}},
	}
}

// digest is that of the records of the tests.
var digest = rdb.RecordDigest([]byte("record of a2"))

func stepHolder() *rdb.Holder {
	return &rdb.Holder{Claim: rdb.Claim{Queue: "a", Element: "1:a2"}, ID: "a2", Digest: digest,
		Note: rdb.Note{Trail: []byte("news"), Fuller: []byte("more news")}}
}

func writeSteps(_ *site, store *rdb.Store) (any, error) {
	return store.Worker("w1").WriteSteps(background, stepHolder(),
		[]rdb.StoredStep{{Name: "one", Text: "done 1 2 int\n3"}, {Name: "two", Text: "done 1 2 int\n4"}})
}

func askWait(lasts time.Duration) func(*site, *rdb.Store) (any, error) {
	return func(_ *site, store *rdb.Store) (any, error) {
		answer, _, err := store.Worker("w1").AskWait(background, stepHolder(),
			rdb.Awaiting{Name: "mail", Message: true, Lasts: lasts})
		return answer, err
	}
}

func sendTo(id string) func(*site, *rdb.Store) (any, error) {
	return func(_ *site, store *rdb.Store) (any, error) {
		return store.Send(background, rdb.Letter{ID: id, Name: "mail", JSON: []byte("7"), Lane: "lane", Number: 3})
	}
}

// parked lets a2 wait for a message.
func parked(t *testing.T, s *site) {
	t.Helper()
	holding(t, s)
	record := []byte(text(s.cmd(t, "HGET", "jobs", "a2")))
	s.cmd(t, "HSET", "steps:a2", "", rdb.RecordDigest(record)+" 10", "mail", "wait 0")
	w := s.store.Worker("w1")
	settle(t, w, w.Shelve(rdb.Shelved{Claim: rdb.Claim{Queue: "a", Element: "1:a2"}, Shelf: rdb.ShelfScheduled,
		Wait: rdb.Wait{Digest: rdb.RecordDigest(record), Until: time.Now().Add(time.Hour), Message: "mail"}}))
}

// sendLog sends a batch of worker w1, and returns whether its claim was gone.
func sendLog(store *rdb.Store, batch rdb.LogBatch) (bool, error) {
	logged, err := store.SendLogs(background, []redisconn.Call{store.Worker("w1").Log(batch)})
	if err != nil {
		return false, err
	}
	return logged[0].Gone, logged[0].Err
}

// callsOfLongJobs has the methods for long jobs make their calls.
func callsOfLongJobs(r *recorder) {
	store := rdb.NewStore(r, "ns")
	w := store.Worker("W")
	claim := rdb.Claim{Queue: "a", Element: "1:x"}
	_, _ = store.SendLogs(background,
		[]redisconn.Call{w.Log(rdb.LogBatch{Claim: claim, ID: "x", Lines: [][]byte{[]byte("l")}})})
	_, _ = w.SaveState(background, rdb.SavedState{Claim: claim, ID: "x"})
	holder := &rdb.Holder{Claim: claim, ID: "x"}
	_, _ = w.WriteSteps(background, holder, []rdb.StoredStep{{Name: "one"}})
	_, _, _ = w.AskWait(background, holder, rdb.Awaiting{Name: "mail", Message: true})
	_, _ = store.Send(background, rdb.Letter{ID: "x"})
	_, _, _ = store.ForgetSteps(background, "x")
	_, _, _ = rdb.NewStore(&oneLane{recorder: r}, "ns").RemoveJoblessMail(background, "")
}
