package api

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// order is a job that is to be enqueued. What is left out is left to the options of the Enqueuer and of the job's
// handler.
type order struct {
	Name       string            `json:"name"`
	Args       []json.RawMessage `json:"args"`
	In         duration          `json:"in"`
	At         time.Time         `json:"at"`
	Source     int64             `json:"source"`
	ID         *string           `json:"id"`
	Retries    *int              `json:"retries"`
	Timeout    *duration         `json:"timeout"`
	Retention  *duration         `json:"retention"`
	RetryFor   *duration         `json:"retry_for"`
	ExpireIn   *duration         `json:"expire_in"`
	ExpireAt   time.Time         `json:"expire_at"`
	Deadline   time.Time         `json:"deadline"`
	Meta       map[string]string `json:"meta"`
	Tags       []string          `json:"tags"`
	Front      bool              `json:"front"`
	Completion *string           `json:"completion"`
	Key        *string           `json:"key"`
	Weight     *int              `json:"weight"`
	Needs      []string          `json:"needs"`
	Unique     *uniqueOrder      `json:"unique"`
}

// uniqueOrder is work.UniqueOptions.
type uniqueOrder struct {
	Key          *string  `json:"key"`
	Args         []int    `json:"args"`
	Until        string   `json:"until"`
	For          duration `json:"for"`
	KeepInMorgue bool     `json:"keep_in_morgue"`
	OnConflict   []string `json:"on_conflict"`
}

// Receipt is the answer. What was enqueued under an idempotency key has neither a time nor Duplicate, since the answer
// is the same each time.
type Receipt struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	RunAt     time.Time `json:"run_at,omitzero"`
	Duplicate bool      `json:"duplicate,omitempty"`
}

func enqueue(v *visit.Visit) error {
	if v.Enqueuer == nil {
		return &visit.StatusError{Status: http.StatusNotImplemented,
			Text: "this program takes no jobs: its webui.Options have no Enqueuer"}
	}
	body, err := bodyOf(v)
	if err != nil {
		return err
	}
	var o order
	if err := decode(v, &o); err != nil {
		return err
	}
	options, err := o.options()
	if err != nil {
		return err
	}
	entry := work.Entry{Name: o.Name, Args: asArgs(o.Args), In: time.Duration(o.In), At: o.At, Source: o.Source,
		Options: options}
	if len(v.R.Header.Values("Idempotency-Key")) > 0 {
		return enqueueOnce(v, &o, entry, body)
	}
	got, err := store(v, entry)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if got.Duplicate {
		status = http.StatusOK
	}
	return stored(v, status, Receipt{got.ID, got.Name, got.RunAt, got.Duplicate})
}

// store enqueues one job. The error says what became of it.
func store(v *visit.Visit, entry work.Entry) (work.Receipt, error) {
	err := v.KnownName(entry.Name)
	var receipts []work.Receipt
	if err == nil {
		receipts, err = v.Enqueuer.EnqueueMany(v.Ctx(), []work.Entry{entry})
	}
	if err != nil {
		v.Audit(visit.Failed, err.Error(), entry.Name)
		return work.Receipt{}, err
	}
	return receipts[0], nil
}

func stored(v *visit.Visit, status int, r Receipt) error {
	detail := fmt.Sprintf("job %q is stored", format.Shorten(r.Name, 60))
	if status == http.StatusOK || v.W.Header().Get(replayed) != "" {
		detail = fmt.Sprintf("job %q was stored before", format.Shorten(r.Name, 60))
	}
	v.Audit(visit.Done, detail, r.ID)
	v.W.Header().Set("Location", format.Link("job", "id", r.ID)) // beside /api/jobs
	return answer(v, status, r)
}

const (
	replayed       = "Idempotency-Replayed"
	idempotentFor  = 24 * time.Hour
	maxIdempotency = 200 // bytes of a key
)

// enqueueOnce stores one job for all requests with a key. The id of the job tells what its request said, so that
// another request under the same key is known for what it is as long as the key is kept, whatever became of the job.
func enqueueOnce(v *visit.Visit, o *order, entry work.Entry, body []byte) error {
	keys := v.R.Header.Values("Idempotency-Key")
	switch {
	case len(keys) > 1 || keys[0] == "" || len(keys[0]) > maxIdempotency:
		return visit.BadRequest(fmt.Sprintf("send one header Idempotency-Key of 1 to %d bytes, such as a random UUID",
			maxIdempotency))
	case o.ID != nil, o.Unique != nil:
		return visit.BadRequest(`with the header Idempotency-Key leave "id" and "unique" out: the key is what makes the job the only one`)
	}
	said, err := digestOf(body)
	if err != nil {
		return err
	}
	key := sha256.Sum256([]byte("Idempotency-Key: " + keys[0]))
	entry.Options = append(entry.Options,
		work.ID(said+"-"+rand.Text()), work.Once(base64.RawURLEncoding.EncodeToString(key[:]), idempotentFor))
	got, err := store(v, entry)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(got.ID, said+"-") {
		err := &visit.StatusError{Status: http.StatusConflict,
			Text: "this Idempotency-Key belongs to another request: send each with a key of its own"}
		v.Audit(visit.Failed, err.Text, entry.Name)
		return err
	}
	if got.Duplicate {
		v.W.Header().Set(replayed, "true")
	}
	return stored(v, http.StatusCreated, Receipt{ID: got.ID, Name: got.Name})
}

// digestOf is the same for the same JSON, however it is spaced and in whichever order its members are.
func digestOf(body []byte) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(rawjson.Distinct(body)))
	decoder.UseNumber() // large integers stay what they are
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", badBody(err)
	}
	canonical, err := json.Marshal(value)
	if err != nil {
		return "", badBody(err)
	}
	sum := sha256.Sum256(canonical)
	return base64.RawURLEncoding.EncodeToString(sum[:15]), nil
}

func (o *order) options() ([]work.EnqueueOption, error) {
	var options []work.EnqueueOption
	add := func(is bool, option func() work.EnqueueOption) {
		if is {
			options = append(options, option())
		}
	}
	add(o.ID != nil, func() work.EnqueueOption { return work.ID(*o.ID) })
	add(o.Retries != nil, func() work.EnqueueOption { return work.Retries(*o.Retries) })
	add(o.Timeout != nil, func() work.EnqueueOption { return work.Timeout(time.Duration(*o.Timeout)) })
	add(o.Retention != nil, func() work.EnqueueOption { return work.Retention(time.Duration(*o.Retention)) })
	add(o.RetryFor != nil, func() work.EnqueueOption { return work.RetryFor(time.Duration(*o.RetryFor)) })
	add(o.ExpireIn != nil, func() work.EnqueueOption { return work.ExpireIn(time.Duration(*o.ExpireIn)) })
	add(!o.ExpireAt.IsZero(), func() work.EnqueueOption { return work.ExpireAt(o.ExpireAt) })
	add(!o.Deadline.IsZero(), func() work.EnqueueOption { return work.Deadline(o.Deadline) })
	add(len(o.Tags) > 0, func() work.EnqueueOption { return work.Tags(o.Tags...) })
	add(o.Front, work.Front)
	add(o.Completion != nil, func() work.EnqueueOption { return work.Completion(*o.Completion) })
	add(o.Key != nil, func() work.EnqueueOption { return work.Key(*o.Key) })
	add(o.Weight != nil, func() work.EnqueueOption { return work.Weight(*o.Weight) })
	add(len(o.Needs) > 0, func() work.EnqueueOption { return work.Needs(o.Needs...) })
	for key, value := range o.Meta {
		options = append(options, work.Meta(key, value))
	}
	if o.Unique == nil {
		return options, nil
	}
	unique, err := o.Unique.options()
	return append(options, work.Unique(unique)), err
}

func (o *uniqueOrder) options() (work.UniqueOptions, error) {
	unique := work.UniqueOptions{Args: o.Args, For: time.Duration(o.For), KeepInMorgue: o.KeepInMorgue}
	if o.Key != nil {
		if unique.Key = *o.Key; unique.Key == "" {
			return unique, visit.BadRequest(`"unique.key" is empty: leave it out, or give a value`)
		}
	}
	switch o.Until {
	case "", "finished":
	case "started":
		unique.Until = work.UntilStarted
	default:
		return unique, visit.BadRequest(fmt.Sprintf(`unique.until %q is none of "finished" and "started"`,
			format.Shorten(o.Until, 60)))
	}
	conflicts := map[string]work.Conflict{"replace_args": work.ReplaceArgs, "postpone": work.Postpone,
		"refuse": work.RefuseDuplicate}
	for _, name := range o.OnConflict {
		conflict, known := conflicts[name]
		if !known {
			return unique, visit.BadRequest(
				fmt.Sprintf(`unique.on_conflict %q is none of "replace_args", "postpone" and "refuse"`,
					format.Shorten(name, 60)))
		}
		unique.OnConflict |= conflict
	}
	return unique, nil
}
