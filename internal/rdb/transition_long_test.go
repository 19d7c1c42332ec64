package rdb_test

import (
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
	}
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
}
