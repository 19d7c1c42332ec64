package nearest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/nearest"
)

func TestTheNearestWordIsTheOneThatWasMeant(t *testing.T) {
	t.Parallel()
	known := []string{"create_watch", "create_match", "mail", "größe", "send_mail", "x"}
	for name, row := range map[string]struct{ word, want string }{
		"letters swapped":          {"create_wacth", "create_watch"},
		"one letter too many":      {"maill", "mail"},
		"one too few":              {"send_mai", "send_mail"},
		"case does not count":      {"CREATE_WATCH", "create_watch"},
		"nor do separators":        {"create-watch", "create_watch"},
		"of two the first":         {"create_Xatch", "create_match"},
		"another letter":           {"grösse", "größe"},
		"nothing is near":          {"export", ""},
		"nothing at all":           {"", ""},
		"of a very short one half": {"xy", "x"},
		"and no more":              {"yz", ""},
		"a short word, two away":   {"mxxl", "mail"},
		"a short word, three":      {"mxxx", ""},
		"of another length":        {strings.Repeat("mail", 50), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, nearest.Word(row.word, known))
		})
	}
	assert.Empty(t, nearest.Word("mail", nil))
	assert.Equal(t, `did you mean "mail"?`, nearest.DidYouMean("mial", known, excerpt.Brief))
	assert.Empty(t, nearest.DidYouMean("export", known, excerpt.Brief))
}

func TestNoMoreThanTenThousandWordsAreCompared(t *testing.T) {
	t.Parallel()
	known := make([]string, nearest.Most)
	for i := range known {
		known[i] = fmt.Sprintf("%0200d", i)
	}
	assert.Empty(t, nearest.Word("mail", append(known, "mail")))
	known[nearest.Most-1] = "mail"
	assert.Equal(t, "mail", nearest.Word("mial", append(known, "mial")))
}

func BenchmarkWordAmongTenThousand(b *testing.B) {
	known := make([]string, nearest.Most)
	for i := range known {
		known[i] = fmt.Sprintf("a name of a job that is rather long %0160d", i)
	}
	for b.Loop() {
		nearest.Word(known[0][:100]+strings.Repeat("x", 96), known)
	}
}
