package format_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/webui/internal/format"
)

func TestWordsForNumbersAndTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 6, 7, 8, 9, 123e6, time.UTC)
	for got, want := range map[string]string{
		format.Count(0): "0", format.Count(1234567): "1,234,567", format.Count(int64(-1000)): "-1,000",
		format.Count(999):           "999",
		format.Word(1, "is", "are"): "is", format.Word(int64(0), "is", "are"): "are",
		format.Counted(int64(1), "job", "jobs"): "1 job", format.Counted(2000, "job", "jobs"): "2,000 jobs",
		format.Sentence("there is none"): "There is none", format.Sentence("dial: no"): "dial: no",
		format.Sentence(""): "", format.Sentence("1 is"): "1 is", format.Sentence("éa b"): "éa b",
		format.Span(0): "0", format.Span(50 * time.Nanosecond): "1 µs", format.Span(12 * time.Millisecond): "12 ms",
		format.Span(1500 * time.Millisecond): "1.5 s", format.Span(59 * time.Second): "59 s",
		format.Span(90 * time.Second): "1 min 30 s", format.Span(12 * time.Minute): "12 min",
		format.Span(-25 * time.Hour): "1 d 1 h",
		format.Size(900):             "900 B", format.Size(1 << 20): "1 MiB", format.Size(1_500_000): "1.4 MiB",
		format.Size(5 << 40): "5 TiB",
		format.Rate(0.254):   "0.25", format.Rate(12.34): "12.3", format.Rate(200): "200",
		format.Rate(123456):      "123,456",
		format.Shorten("日本語", 4): "日…", format.Shorten("abc", 3): "abc",
		format.MomentAt(now.Add(-time.Hour), now).Words:              "1 h ago",
		format.MomentAt(now.AddDate(99, 0, 0), now).Words:            "in over 10 years",
		format.MomentAt(now.Add(time.Minute), now).Words:             "in 1 min",
		format.ClockAt(now, now.Add(time.Minute)).Words:              "07:08:09.123",
		format.ClockAt(now, now.Add(24*time.Hour)).Words:             "2026-05-06 07:08:09",
		format.MomentAt(now, now).Words:                              "now",
		format.MomentAt(now.In(time.FixedZone("", 3600)), now).Exact: "2026-05-06 07:08:09.123 UTC",
		format.MomentAt(now, now).Machine:                            "2026-05-06T07:08:09.123Z",
		format.Pretty(json.RawMessage(`[1,{"a":12345678901234567890}]`),
			100): "[\n  1,\n  {\n    \"a\": 12345678901234567890\n  }\n]",
		format.Pretty(json.RawMessage("no json \xff"), 100):                 "no json \uFFFD",
		format.Pretty(json.RawMessage(`"`+strings.Repeat("é", 50)+`"`), 10): `"éééé……`,
		format.Link("job", "id", "a/b?c&d #%00"):                            "job?id=a%2Fb%3Fc%26d+%23%2500",
		format.Link("jobs", "name", ""):                                     "jobs",
	} {
		assert.Equal(t, want, got)
	}
}

func TestMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 4, ""}, {"abcd", 4, "abcd"}, {"abcde", 4, "ab…de"}, {"abcdef", 5, "abc…ef"},
		{"ääääää", 5, "ä…ä"}, {"abcdeä", 2, "a…"},
	} {
		assert.Equal(t, c.want, format.Middle(c.text, c.most), "%q to %d", c.text, c.most)
	}
}
