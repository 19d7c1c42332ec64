package record_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/record"
)

func sampleRecord() record.Record {
	return record.Record{ID: "7zk3vq0m1x9t2c8r5wj4ha", Name: "create_watch",
		Args:       json.RawMessage(`[1234567890123456,42]`),
		EnqueuedAt: 1732100000000}
}

func fullRecord() record.Record {
	three := 3
	r := sampleRecord()
	r.Source, r.Retries, r.Timeout, r.Retention, r.RunAt = -7, &three, 1500, 60_000, 1732100001000
	r.Parent = "<the \"first\">"
	r.Meta = map[string]string{"trace": "a\"b", "": "", "ünï": "\u2028"}
	return r
}

func TestRecordEncodesAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	odd := sampleRecord()
	odd.ID, odd.Name = "a\\b", "<größe & \u2028>\x7f"
	none := 0
	noRetries := sampleRecord()
	noRetries.Retries = &none
	child := sampleRecord()
	child.Parent = "7zk3vq0m1x9t2c8r5wj4hb"
	for name, r := range map[string]record.Record{"plain": sampleRecord(), "of a parent": child,
		"all fields": fullRecord(), "odd": odd, "no retries": noRetries} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, encodedByJSON(t, r), string(r.Append(nil)))
			decoded, err := record.Decode(r.Append(nil))
			require.NoError(t, err)
			assert.Equal(t, r, decoded)
		})
	}
	t.Run("no args are an empty array", func(t *testing.T) {
		t.Parallel()
		r := record.Record{ID: "1", Name: "a"}
		assert.Equal(t, `{"jid":"1","name":"a","args":[],"t":0}`, string(r.Append(nil)))
	})
	t.Run("appends", func(t *testing.T) {
		t.Parallel()
		r := record.Record{ID: "1", Name: "a"}
		assert.Equal(t, `x{"jid":"1","name":"a","args":[],"t":0}`, string(r.Append([]byte("x"))))
	})
}

func TestRecordKeepsArgsByteForByte(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"large integers": `[1234567890123456789,12345678901234567890]`,
		"exponents":      `[1e2,1.50,-0]`,
		"empty":          `[]`,
		"nested":         `[[],{},[[{"a":[]}]]]`,
		"spaces":         "[ 1,\n2 ]",
		"escapes":        `["\u00e9\/é"]`,
		"deep":           strings.Repeat("[", 300) + strings.Repeat("]", 300),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sampleRecord()
			r.Args = json.RawMessage(args)
			decoded, err := record.Decode(r.Append(nil))
			require.NoError(t, err)
			assert.Equal(t, args, string(decoded.Args))
		})
	}
}

func TestRecordOfOtherWritersIsRead(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]string{
		"another order": `{"name":"a","t":5,"args":[1],"jid":"1"}`,
		"spaces":        ` { "jid" : "1", "name" : "a", "args" : [1], "t" : 5 } `,
		"unknown field": `{"jid":"1","name":"a","args":[1],"t":5,"shard":{"of":"another version"}}`,
		"null fields":   `{"jid":"1","name":"a","args":[1],"t":5,"meta":null,"retries":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := record.Decode([]byte(stored))
			require.NoError(t, err)
			assert.Equal(t, record.Record{ID: "1", Name: "a", Args: json.RawMessage(`[1]`), EnqueuedAt: 5}, r)
		})
	}
}

func TestRecordThatIsBadSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stored, want string }{
		"empty":     {``, "the record cannot be read: it is not JSON from byte"},
		"cut":       {`{"jid":"1","na`, "the record cannot be read: it is not JSON from byte"},
		"something": {`hello`, "the record cannot be read: it is not JSON from byte 1 on"},
		"more behind": {`{"jid":"1","name":"a","args":[],"t":5}}`,
			"the record cannot be read: it is not JSON from byte"},
		"bad args": {`{"jid":"1","name":"a","args":[01],"t":5}`, "the record cannot be read: it is not JSON from byte"},
		"an array": {`[1]`,
			`the record is not a JSON object such as {"jid":"1","name":"a","args":[],"t":0}: ` +
				`a JSON array does not fit`},
		"no args": {`{"jid":"1","name":"a","t":5}`,
			`the record's args are missing: they must be a JSON array, for instance [1,"a"]`},
		"null args": {`{"jid":"1","name":"a","args":null,"t":5}`,
			`the record's args are null: they must be a JSON array, for instance [1,"a"]`},
		"null": {`null`, `the record's args are missing: they must be a JSON array, for instance [1,"a"]`},
		"object args": {`{"jid":"1","name":"a","args":{"a":1},"t":5}`,
			`the record's args are a JSON object: they must be a JSON array, for instance [1,"a"]`},
		"name": {`{"jid":"1","name":5,"args":[],"t":5}`,
			"a JSON number does not fit the type string of its field name"},
		"time": {`{"jid":"1","name":"a","args":[],"t":"now"}`,
			"a JSON string does not fit the type int64 of its field t"},
		"large number": {`{"jid":"1","name":"a","args":[],"t":99999999999999999999}`,
			"a JSON number does not fit the type int64 of its field t"},
		"long args": {`{"args":"` + strings.Repeat("x", 100) + `"}`,
			"the record's args are a JSON string: they must be"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := record.Decode([]byte(c.stored))
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// FuzzEncodeRecord compares encode with encoding/json, and what is read back with what was written.
func FuzzEncodeRecord(f *testing.F) {
	f.Add("id", "name", `[1,"a"]`, int64(1), int64(2), 3, int64(4), int64(5), "key", "value")
	f.Add("<\x80>", "\u2028\"\\", `[]`, int64(-1), int64(0), -1, int64(-4), int64(0), "", "\x00")
	f.Fuzz(func(t *testing.T, id, name, arg string, at, source int64, retries int, timeout, due int64, key,
		value string) {
		args, err := json.Marshal([]any{arg})
		require.NoError(t, err)
		r := record.Record{
			ID: id, Name: name, Args: args, EnqueuedAt: at, Source: source, Retries: &retries, Timeout: timeout,
			RunAt: due,
			Meta:  map[string]string{key: value, "second": id},
		}
		want := encodedByJSON(t, r)
		require.Equal(t, want, string(r.Append(nil)))
		var valid record.Record
		require.NoError(t, json.Unmarshal([]byte(want), &valid))
		decoded, err := record.Decode([]byte(want))
		require.NoError(t, err)
		assert.Equal(t, valid, decoded)
	})
}

func encodedByJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	require.NoError(t, encoder.Encode(v))
	return strings.TrimSuffix(b.String(), "\n")
}

func BenchmarkRecordEncode(b *testing.B) {
	r := sampleRecord()
	buffer := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		buffer = r.Append(buffer[:0])
	}
}

func BenchmarkRecordDecode(b *testing.B) {
	plain, full := sampleRecord(), fullRecord()
	for name, stored := range map[string][]byte{"plain": plain.Append(nil), "with meta": full.Append(nil)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := record.Decode(stored); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
