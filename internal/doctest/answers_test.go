package doctest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redisconn/recorded"
)

// The table of answers on the page is that by which answers are classified.
func TestThePageListsEveryRecordedAnswer(t *testing.T) {
	t.Parallel()
	names := map[redisconn.Meaning]string{redisconn.Passing: "passes", redisconn.NoRight: "no right",
		redisconn.Full: "full", redisconn.Unfit: "unfit", redisconn.OfCall: "of the call", redisconn.Unknown: "unknown"}
	page, err := os.ReadFile("docs/reliability.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| said by | answer | means |\n|---|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	var want strings.Builder
	for _, answer := range recorded.Answers {
		err := redisconn.ParseServerError(answer.Text)
		means := names[redisconn.MeaningOf(err)]
		if redisconn.Classify(err).MayCount && means != "unknown" {
			means += "; may have been executed"
		}
		fmt.Fprintf(&want, "| %s | `%s` | %s |\n", answer.From, answer.Text, means)
	}
	assert.Equal(t, strings.TrimSpace(want.String()), table, "the table should be:\n%s", want.String())
	for _, name := range names {
		assert.Contains(t, string(page), "| **"+name+"** |")
	}
}
