package record

import (
	"encoding/json"
	"strconv"

	"github.com/265d0351/work/internal/rawjson"
)

// How a job has ended, in outcomes and in queues of completions.
const (
	Succeeded = "done"
	Discarded = "discarded"
	Cancelled = "cancelled"
	Expired   = "expired"
	Deleted   = "deleted"
)

// Outcome is what is kept of a job that has ended, for its retention.
type Outcome struct {
	State   string          `json:"state"`
	Name    string          `json:"name,omitempty"`    // of the job, where its details are kept: see package ended
	EndedAt int64           `json:"ended"`             // ms
	Result  json.RawMessage `json:"result,omitempty"`  // absent where the handler returns none
	Object  string          `json:"object,omitempty"`  // SHA-256 of the result, where it is stored as an object
	Problem string          `json:"problem,omitempty"` // why a result that was returned is not here
	Failure string          `json:"failure,omitempty"` // the kind of the failure by which it died, without a morgue
}

// DecodeOutcome reads what is kept of a job. Its errors are those of encoding/json.
func DecodeOutcome(stored []byte) (kept Outcome, err error) {
	if err := json.Unmarshal(stored, &kept); err != nil {
		return Outcome{}, err
	}
	return kept, nil
}

// EndedAs is the state of a job, in the words of work.State, by the outcome that is kept of it. One that cannot be read
// counts as succeeded: nothing else is known of the job but that it ended.
func EndedAs(stored []byte) string {
	kept, err := DecodeOutcome(stored)
	if err != nil {
		return StateName(Succeeded)
	}
	return StateName(kept.State)
}

// StateName is the word of work.State for how a job has ended: they differ for one that is done.
func StateName(ended string) string {
	if ended == Succeeded {
		return "succeeded"
	}
	return ended
}

// Encode returns the JSON of the outcome, with the result byte for byte.
func (o Outcome) Encode() []byte {
	dst := make([]byte, 0, len(o.State)+len(o.Result)+48)
	dst = rawjson.AppendString(append(dst, `{"state":`...), o.State)
	if o.Name != "" { // before all that may be large: scripts look for it at the beginning
		dst = rawjson.AppendString(append(dst, `,"name":`...), o.Name)
	}
	dst = strconv.AppendInt(append(dst, `,"ended":`...), o.EndedAt, 10)
	if len(o.Result) > 0 {
		dst = append(append(dst, `,"result":`...), o.Result...)
	}
	if o.Object != "" {
		dst = rawjson.AppendString(append(dst, `,"object":`...), o.Object)
	}
	if o.Problem != "" {
		dst = rawjson.AppendString(append(dst, `,"problem":`...), o.Problem)
	}
	if o.Failure != "" {
		dst = rawjson.AppendString(append(dst, `,"failure":`...), o.Failure)
	}
	return append(dst, '}')
}
