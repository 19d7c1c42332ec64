package unique_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/unique"
)

func TestWhichJobsAreOfTheSameKind(t *testing.T) {
	t.Parallel()
	type of struct {
		kind unique.Kind
		args string
	}
	all := unique.Kind{Name: "report"}
	chosen := func(positions ...int) unique.Kind { return unique.Kind{Name: "report", Args: positions} }
	behalf := func(of string) unique.Kind { return unique.Kind{Name: "report", Of: of} }
	keyed := func(name, key string) unique.Kind { return unique.Kind{Name: name, Key: key} }
	for name, row := range map[string]struct {
		first, second of
		same          bool
	}{
		"same args":                   {of{all, `[7,"a"]`}, of{all, `[7,"a"]`}, true},
		"other args":                  {of{all, `[7,"a"]`}, of{all, `[7,"b"]`}, false},
		"args in other places":        {of{all, `["a","b"]`}, of{all, `["b","a"]`}, false},
		"no args":                     {of{all, `[]`}, of{all, `[]`}, true},
		"one more":                    {of{all, `[7]`}, of{all, `[7,null]`}, false},
		"parts that join alike":       {of{all, `["a","bc"]`}, of{all, `["ab","c"]`}, false},
		"members in another order":    {of{all, `[{"b": 1, "a":2}]`}, of{all, `[{"a":2,"b":1}]`}, true},
		"large integers one apart":    {of{all, `[9007199254740993]`}, of{all, `[9007199254740992]`}, false},
		"halves of pairs":             {of{all, `["\udce9"]`}, of{all, `["\udce8"]`}, false},
		"the same halves":             {of{all, `["\udce9"]`}, of{all, `["\uDCE9" ]`}, true},
		"a half that does not count":  {of{chosen(0), `[7,"\udce9"]`}, of{chosen(0), `[7,"b"]`}, true},
		"chosen args the same":        {of{chosen(0), `[7,"a"]`}, of{chosen(0, 0), `[7,"b"]`}, true},
		"chosen args in another row":  {of{chosen(0, 1), `[7,"a",1]`}, of{chosen(1, 0), `[7,"a",2]`}, true},
		"chosen args others":          {of{chosen(1), `[7,"a"]`}, of{chosen(1), `[7,"b"]`}, false},
		"other args chosen":           {of{chosen(0), `[7,7]`}, of{chosen(1), `[7,7]`}, false},
		"same key, other args":        {of{keyed("report", "k"), `[7]`}, of{keyed("report", "k"), `[8]`}, true},
		"other key":                   {of{keyed("report", "k"), `[7]`}, of{keyed("report", "l"), `[7]`}, false},
		"on behalf of another":        {of{behalf("x"), `[7]`}, of{behalf("y"), `[7]`}, false},
		"on behalf of one":            {of{behalf("x"), `[7]`}, of{behalf("x"), `[7]`}, true},
		"on behalf of nobody":         {of{behalf("x"), `[7]`}, of{all, `[7]`}, false},
		"other name":                  {of{keyed("report", "k"), `[]`}, of{keyed("mail", "k"), `[]`}, false},
		"a key that is of no job":     {of{keyed("report", "k"), `[]`}, of{keyed("", "k"), `[]`}, false},
		"a key that reads like args":  {of{all, `[]`}, of{keyed("report", "args"), `[]`}, false},
		"a key whatever the args are": {of{keyed("report", "k"), `no JSON`}, of{keyed("report", "k"), `[]`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, err := row.first.kind.Digest([]byte(row.first.args))
			require.NoError(t, err)
			second, err := row.second.kind.Digest([]byte(row.second.args))
			require.NoError(t, err)
			assert.Equal(t, row.same, first == second)
			assert.Len(t, first, 43)
		})
	}
}

// What is in Redis was written by earlier versions too: a digest never changes.
func TestDigestsStay(t *testing.T) {
	t.Parallel()
	for want, kind := range map[string]unique.Kind{
		"Lp_gppZXkeC5-SdrS61mjrABVmNzhBNyTW47hGfrAlA": {Name: "report"},
		"sn5Xx0j6q5P8HCq65PVJep2xz7vI-dS3YaEGGwfAOs0": {Name: "report", Args: []int{1}},
		"N7UJzQFB_4S0kwiRkbgEoovL0497-M0tsnaGtLjUQM0": {Name: "report", Key: "k"},
		"pHwhqPxP_3OQfgVXWQWlVB23bT28raXXYSQz1H2pXHs": {Key: "k"},
		"hU7nAZUWfRMIVeaYEwO6nkqmJhexPh-hhq2eOzhyGvQ": {Name: "report", Of: "customer-42"},
	} {
		digest, err := kind.Digest([]byte(`[7,{"b":1,"a":"<é>"}]`))
		require.NoError(t, err)
		assert.Equal(t, want, digest, "%+v", kind)
	}
}

func TestWhatHasNoKind(t *testing.T) {
	t.Parallel()
	_, err := unique.Kind{Name: "report", Args: []int{0, 2}}.Digest([]byte(`[1,2]`))
	var refused *invalid.Error
	require.ErrorAs(t, err, &refused)
	assert.EqualError(t, err, `UniqueOptions.Args is [0 2]: job "report" has 2 args: use positions below that`)
	_, err = unique.Kind{Name: "report"}.Digest([]byte(`["4111` + strings.Repeat("1", 10)))
	require.ErrorContains(t, err, "the args cannot be compared: ")
	assert.NotContains(t, err.Error(), "4111")
}
