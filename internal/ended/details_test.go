package ended_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/ended"
	"github.com/265d0351/work/internal/record"
)

const raw = `{"jid":"1","name":"n","args":["<a>", 1.50],"t":5,"unknown":[1]}`

func TestDetailsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	trail := record.Trail{Fails: 12, Reason: "r", Interruptions: 3}.Interrupt(
		record.Attempt{Number: 1, Ended: 40, Outcome: record.Snoozed})
	trail.Errors = []record.Failure{{At: 30, Due: 10, Begun: 20, Attempt: 11, Worker: "w", Error: "e", Stack: "s"}}
	crashes := crash.Read("w9@50:21.7:1:1:1:1:3 ?w8:4")
	details := ended.Of(ended.Job{Record: []byte(raw), Trail: &trail, Crashes: &crashes, Message: "half",
		Progress: []byte(`{"a":1}`), Last: &record.Attempt{Number: 13, Ended: 60, Outcome: record.Succeeded}})
	text := details.Encode()
	assert.Contains(t, string(text), raw, "byte for byte")
	read, err := ended.Decode(text)
	require.NoError(t, err)
	assert.Equal(t, details, read)
	var outcomes []string
	for _, a := range read.Attempts {
		outcomes = append(outcomes, a.Outcome)
	}
	assert.Equal(t, []string{record.Failed, record.Snoozed, record.Crashed, record.Succeeded}, outcomes)
	assert.Equal(t, record.Attempt{Number: 13, Begun: 43, Ended: 50, Worker: "w9", Outcome: record.Crashed},
		read.Attempts[2])
	assert.Equal(t, 11+3, read.Left, "failures and interruptions before those that are known")
	assert.EqualValues(t, 60, read.SaidAt)
}

func TestDetailsOfNearlyNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"no record": "", "one that is no JSON": "{broken"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			encoded := ended.Details{Record: []byte(text)}.Encode()
			assert.Equal(t, "{}", string(encoded))
			_, err := ended.Decode(encoded)
			require.NoError(t, err)
		})
	}
	assert.Equal(t, `{"record":{"a":1}}`, string(ended.Details{Record: []byte(`{"a":1}`)}.Encode()))
}

func TestDetailsAreBounded(t *testing.T) {
	t.Parallel()
	large := func(n int) []byte {
		return []byte(`{"jid":"1","name":"n","args":["` + strings.Repeat("x", n) + `"],"t":5}`)
	}
	fits := ended.MaxBytes - len(`{"record":}`) - len(large(0))
	attempts := func(text, stack int) (all []record.Attempt) {
		for range 20 {
			all = append(all, record.Attempt{Outcome: record.Failed, Error: strings.Repeat("\x01", text),
				Stack: strings.Repeat("s", stack)})
		}
		return all
	}
	tests := map[string]struct {
		given                        ended.Details
		args, stacks, errors, record bool // that are left
	}{
		"at the bound":    {given: ended.Details{Record: large(fits)}, args: true, record: true},
		"a byte too many": {given: ended.Details{Record: large(fits + 1)}, record: true},
		"nobody wants it": {given: ended.Details{Record: large(1), NoArgs: ended.Unwanted}, record: true},
		"many stacks": {given: ended.Details{Record: large(1), Attempts: attempts(1, 4096)}, errors: true,
			record: true},
		"many long errors": {given: ended.Details{Record: large(1), Attempts: attempts(1024, 4096)}, record: true},
		"large meta": {given: ended.Details{Record: []byte(`{"jid":"1","name":"n","args":[],"meta":{"a":"` +
			strings.Repeat("m", ended.MaxBytes) + `"},"t":5}`)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := tt.given.Encode()
			assert.LessOrEqual(t, len(text), ended.MaxBytes)
			read, err := ended.Decode(text)
			require.NoError(t, err)
			assert.Equal(t, tt.record, read.Record != nil)
			assert.Equal(t, tt.args, strings.Contains(string(read.Record), "x"))
			assert.Equal(t, tt.args, read.NoArgs == "")
			for i, a := range read.Attempts {
				assert.Equal(t, tt.stacks, a.Stack != "")
				assert.Equal(t, tt.errors, a.Error != "")
				assert.NotEmpty(t, tt.given.Attempts[i].Error, "what was given is not changed")
			}
			assert.Len(t, read.Attempts, len(tt.given.Attempts))
		})
	}
}

// A crash that a trail has taken over is told once, also while Redis has not forgotten it.
func TestACrashIsToldOnce(t *testing.T) {
	t.Parallel()
	crashes := crash.Read("w9@50:21.7:1:1:1:1:3")
	var before record.Trail
	after := before.Interrupt(ended.Crashed(&before, &crashes)...)
	assert.Len(t, ended.Attempts(&after, &crashes), 1)
}
