package rawjson_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rawjson"
)

var arrays = []string{
	``, ` `, `null`, ` null `, `[]`, ` [ ] `, `[1]`, `[ 1 , "a" , true ]`, `["a\"b","\\","é","\u00e9"]`,
	`[[1,[2]],{"a":[1,"]"]}]`,
	`[1,]`, `[,1]`, `[1 2]`, `[`, `[1`, `["`, `["\`, `]`, `[]]`, `[] x`, `["a",`, `[1 `, `[{"a`, `[{"a":[1`, `{}`, `1`,
	`"a"`, `[{]}`, `[nul]`, `[null,null]`, `[-]`, `[01]`, `[1.]`,
	`[1e5,-0,0.10,1E+2]`,
	`[9007199254740993,9223372036854775807,9223372036854775808,-9223372036854775808,18446744073709551615]`,
	`[128,-129,256,-1,3.5e38,1e400,0x10,1_000,inf,NaN]`, "[\"\xff\"]", "[\"\x01\"]", "[\t1\r\n]", "[\x001]",
	`["2024-01-01T00:00:00Z"]`, `[tru,fals]`,
}

// The splitter with what validates each piece accepts what encoding/json accepts, and cuts where it cuts.
func FuzzSplit(f *testing.F) {
	for _, seed := range arrays {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pieces, ok := rawjson.Split(nil, data)
		for _, piece := range pieces {
			ok = ok && json.Valid(piece)
		}
		var want []json.RawMessage
		err := json.Unmarshal(data, &want)
		if len(data) == 0 {
			err = nil // missing arguments are none
		}
		require.Equal(t, err == nil, ok, "encoding/json says %v", err)
		if !ok {
			return
		}
		require.Len(t, pieces, len(want))
		for i := range want {
			require.True(t, bytes.Equal(want[i], pieces[i]), "piece %d is %q, encoding/json has %q", i, pieces[i],
				want[i])
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	args := []byte(`[1234567,"a name",{"id":1,"items":["a","b",{"c":[1,2,3]}]},true,null]`)
	var pieces [][]byte
	b.SetBytes(int64(len(args)))
	b.ReportAllocs()
	for b.Loop() {
		pieces, _ = rawjson.Split(pieces[:0], args)
	}
}
