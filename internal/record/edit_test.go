package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/record"
)

func TestWithArgsLeavesAllElseAsItWas(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ stored, want string }{
		"plain": {`{"jid":"1","name":"n","args":[1,2],"t":5}`,
			`{"jid":"1","name":"n","args":["new"],"t":5}`},
		"unknown fields": {`{"jid":"1","x": {"args":[3]} ,"name":"n","args":[],"t":5,"y":1.50}`,
			`{"jid":"1","x": {"args":[3]} ,"name":"n","args":["new"],"t":5,"y":1.50}`},
		"spaces": {"{ \"jid\" : \"1\",\n \"args\" :\t[ 1 ] , \"name\":\"n\" }",
			"{ \"jid\" : \"1\",\n \"args\" :\t[\"new\"] , \"name\":\"n\" }"},
		"twice":        {`{"args":[1],"name":"n","args":[2]}`, `{"args":[1],"name":"n","args":["new"]}`},
		"another case": {`{"name":"n","Args":[2]}`, `{"name":"n","Args":["new"]}`},
		"with objects": {`{"name":"n","args":[null],"t":5,"objects":{"0":"abc"},"tags":["x"]}`,
			`{"name":"n","args":["new"],"t":5,"tags":["x"]}`},
		"objects at first": {`{"name":"n","objects":{"0":"abc"},"args":[null]}`, `{"name":"n","args":["new"]}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edited, err := record.WithArgs([]byte(c.stored), []byte(`["new"]`))
			require.NoError(t, err)
			assert.Equal(t, c.want, string(edited))
		})
	}
}

func TestWithArgsRefusesWhatIsNoRecord(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]string{
		"empty": "", "no JSON": "no json", "cut off": `{"jid":"1","args":[1`, "no object": `["args"]`,
		"no args":             `{"jid":"1","name":"n"}`,
		"an id that is none":  `{"jid":1,"name":"n","args":[]}`,
		"nothing but objects": `{"objects":{"0":"a"},"args":[1]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := record.WithArgs([]byte(stored), []byte(`["new"]`))
			assert.Error(t, err)
		})
	}
}

func FuzzWithArgs(f *testing.F) {
	f.Add(`{"jid":"1","name":"n","args":[1],"t":5}`)
	f.Add(`{"Args":[],"objects":{}}`)
	f.Add(`{"Args":{}}`)
	f.Fuzz(func(t *testing.T, stored string) {
		edited, err := record.WithArgs([]byte(stored), []byte(`[7]`))
		if err != nil {
			return
		}
		after, err := record.Decode(edited)
		require.NoError(t, err)
		before, err := record.Decode([]byte(stored))
		if err != nil {
			return // its args were not an array, and now they are
		}
		before.Args, before.Objects = after.Args, nil
		assert.Equal(t, before, after)
		assert.Equal(t, `[7]`, string(after.Args))
	})
}
