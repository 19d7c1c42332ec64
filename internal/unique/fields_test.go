package unique_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/unique"
)

type (
	Tenant struct {
		ID   int64 `json:"tenant" work:"unique"`
		Name string
	}
	watch struct {
		User  int64  `json:"user,omitempty" work:"unique"`
		Area  string `work:"unique"`
		Note  string
		Inner struct {
			Deep int `work:"unique"`
		}
		Tenant
	}
	Itself struct {
		*Itself
		ID int `work:"unique"`
	}
	Customer struct {
		ID int64 `json:"tenant" work:"unique"`
	}
	hides struct { // the tags of what it hides make no difference
		Tenant
		ID    int64 `json:"tenant" work:"unique"`
		Other int   `json:"id" work:"unique"`
	}
	encodes struct {
		ID int `work:"unique"`
	}
)

func (encodes) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

func TestTheFieldsThatAreTagged(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		value any
		want  []string
	}{
		"a struct":               {watch{}, []string{"Area", "tenant", "user"}},
		"a pointer to one":       {&watch{}, []string{"Area", "tenant", "user"}},
		"no tags":                {struct{ ID int }{}, nil},
		"no struct":              {7, nil},
		"a list of structs":      {[]watch{}, nil},
		"one that embeds itself": {Itself{}, []string{"ID"}},
		"one that hides another": {hides{}, []string{"id", "tenant"}},
		"a name that encoding/json does not take": {struct {
			ID int `json:"i€d" work:"unique"`
		}{}, []string{"ID"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := unique.NewArgs([]reflect.Type{reflect.TypeOf(row.value)}, false).Fields()
			require.NoError(t, err)
			if row.want == nil {
				assert.Nil(t, got)
				return
			}
			assert.Equal(t, [][]string{row.want}, got)
		})
	}
}

func TestTagsThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		value any
		want  string
	}{
		"misspelt": {struct {
			ID int `work:"uniqe"`
		}{}, `tagged work:"uniqe": use work:"unique"`},
		"empty": {struct {
			ID int `work:""`
		}{}, `tagged work:""`},
		"more than one": {struct {
			ID int `work:"unique,strict"`
		}{}, `tagged work:"unique,strict"`},
		"not exported": {struct {
			id int `work:"unique"`
		}{}, `field id of struct`},
		"not encoded": {struct {
			ID int `json:"-" work:"unique"`
		}{}, "not in the JSON: tag a field that is exported and encoded"},
		"an embedded struct": {struct {
			Tenant `work:"unique"`
		}{}, "tag the fields of the embedded struct"},
		"hidden by another field": {struct {
			Tenant
			Other int `json:"tenant"`
		}{}, "field ID of unique_test.Tenant is tagged as unique, but another field has its name in the JSON"},
		"left out for another field": {struct {
			Tenant
			*Customer
		}{}, "field ID of unique_test.Tenant is tagged as unique, but another field has its name"},
		"one that encodes itself": {encodes{}, "work.KeyOf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := unique.NewArgs([]reflect.Type{reflect.TypeFor[int](), reflect.TypeOf(row.value)}, false).Fields()
			var refused *invalid.Error
			require.ErrorAs(t, err, &refused)
			assert.ErrorContains(t, err, row.want)
		})
	}
}

// TestTheFieldsThatAreTaggedAreThoseOfTheJSON: a name that is not there would make all jobs the same.
func TestTheFieldsThatAreTaggedAreThoseOfTheJSON(t *testing.T) {
	t.Parallel()
	for _, value := range []any{watch{User: 1}, hides{}, Itself{}, struct {
		Tenant
		ID  int `json:"i€d" work:"unique"`
		Sum int `json:"größe/-" work:"unique"`
	}{}} {
		fields, err := unique.NewArgs([]reflect.Type{reflect.TypeOf(value)}, false).Fields()
		require.NoError(t, err)
		encoded, err := json.Marshal(value)
		require.NoError(t, err)
		var members map[string]any
		require.NoError(t, json.Unmarshal(encoded, &members))
		for _, name := range fields[0] {
			assert.Contains(t, members, name)
		}
	}
}

// TestDigestsByField: what is not among the fields makes no difference, nor does the order in which they stand.
func TestDigestsByField(t *testing.T) {
	t.Parallel()
	kind := unique.Kind{Name: "watch", Fields: [][]string{nil, {"area", "user"}}}
	digest := func(kind unique.Kind, args string) string {
		t.Helper()
		digest, err := kind.Digest([]byte(args))
		require.NoError(t, err)
		return digest
	}
	first := digest(kind, `[1,{"user":9007199254740993,"area":"x","note":"a"}]`)
	assert.Equal(t, "NSpV", first[:4], "a digest never changes")
	assert.Equal(t, first, digest(kind, `[2,{ "note":"b", "area":"x", "user":9007199254740993, "more":[] },3]`))
	others := map[string]bool{first: true}
	for _, args := range []string{
		`[1,{"user":9007199254740992,"area":"x"}]`, `[1,{"user":9007199254740993,"area":"y"}]`,
		`[1,{"user":9007199254740993}]`, `[1,{"user":9007199254740993,"area":null}]`,
		`[1,{"user":9007199254740993,"area":""}]`, `[1,{"area":"x"}]`, `[1,{"user":"x","area":9007199254740993}]`,
		`[1,null]`, `[1,[]]`, `[1]`,
	} {
		digest := digest(kind, args)
		assert.False(t, others[digest], args)
		others[digest] = true
	}
	all := digest(unique.Kind{Name: "watch"}, `[{"user":7}]`)
	assert.NotEqual(t, all, digest(unique.Kind{Name: "watch", Fields: [][]string{{"user"}}}, `[{"user":7}]`))
}

func TestAKeyThatAFunctionMakes(t *testing.T) {
	t.Parallel()
	panicked := func(value any) error { return errors.New(value.(string)) }
	maker := unique.NewKeyMaker(func(w watch) string {
		if w.Note == "panic" {
			panic("the function panicked")
		}
		return w.Area
	}, panicked)
	two := []reflect.Type{reflect.TypeFor[watch](), reflect.TypeFor[int]()}
	require.NoError(t, maker.Fits(unique.NewArgs(two, true)))
	require.ErrorContains(t, maker.Fits(unique.ArgsOf[*watch]()),
		"a function of unique_test.watch for a job that takes *unique_test.watch")
	require.ErrorContains(t, maker.Fits(unique.Args{}), "no args")
	key, err := maker.Key([]byte(`[{"Area":"x"},8]`))
	require.NoError(t, err)
	assert.Equal(t, "x", key)
	for args, want := range map[string]string{
		`[{"Area":""}]`:      "empty",
		`[]`:                 "has no args",
		`[{"Area":7}]`:       "a JSON number does not fit the type string of its field Area",
		`[{"Note":"panic"}]`: "the function panicked",
		`no JSON`:            "has no args",
	} {
		_, err := maker.Key([]byte(args))
		assert.ErrorContains(t, err, want, args)
	}
	assert.False(t, unique.NewKeyMaker[int](nil, panicked).Usable())
	assert.True(t, maker.Usable())
}
