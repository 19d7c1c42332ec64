package doctor

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/doctor.md explains each check under its name and severity, and nothing that is no check.
func TestEveryCheckIsExplained(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/doctor.md")
	require.NoError(t, err)
	explained := map[Check]Severity{}
	for _, title := range regexp.MustCompile("(?m)^### `([a-z-]+)` \\(([a-z]+)").
		FindAllStringSubmatch(string(text), -1) {
		explained[Check(title[1])] = Severity(title[2])
	}
	want := map[Check]Severity{}
	for check, of := range checks {
		want[check] = of.severity
		assert.NotEmpty(t, of.remedy, check)
	}
	assert.Equal(t, want, explained)
}

// The doctor knows each key of the contract, with the type that stands there: nothing of ours is a key that it does not
// know.
func TestEveryKeyOfTheContractIsKnown(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/contributing/redis-contract.md")
	require.NoError(t, err)
	seen := 0
	for _, section := range []string{"Keys", "Objects"} {
		_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
		require.True(t, found, section)
		rest, _, _ = strings.Cut(rest, "\n## ")
		rows := regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| ([a-z, ]+) \\|").FindAllStringSubmatch(rest, -1)
		for _, row := range rows {
			keys, types := strings.Split(row[1], ", "), strings.Split(row[2], ", ")
			if row[2] == "channel" {
				continue // it is no key
			}
			for n, key := range keys {
				name := regexp.MustCompile("<[^>]+>").ReplaceAllString(strings.Trim(key, "`"), "x")
				assert.Equal(t, types[min(n, len(types)-1)], wantedType(name), key)
				seen++
			}
		}
	}
	assert.Greater(t, seen, 50)
}

// TestThereIsSomethingToDoAboutEveryCheck: the page says of each line of the doctor what to do, and of nothing else.
func TestThereIsSomethingToDoAboutEveryCheck(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/doctor.md")
	require.NoError(t, err)
	head, findings, found := strings.Cut(string(text), "\n## Findings\n")
	require.True(t, found)
	told := map[string]string{}
	for _, section := range strings.Split(findings, "\n### ")[1:] {
		paragraphs := regexp.MustCompile("(?s)^`([a-z-]+)` .+?\n\n\\*\\*Do:\\*\\* (.+)$").FindStringSubmatch(section)
		if assert.NotNil(t, paragraphs, section) {
			told[paragraphs[1]] = strings.TrimSpace(paragraphs[2])
		}
	}
	want := map[string]bool{}
	for check := range checks {
		want[string(check)] = true
	}
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(told)))
	said := map[string]string{}
	for check, text := range told {
		assert.Greater(t, len(strings.Fields(text)), 7, check)
		assert.Empty(t, said[text], check)
		said[text] = check
	}
	for _, severity := range []Severity{SeverityError, SeverityWarning, SeverityInfo} {
		assert.Contains(t, head, "**"+string(severity)+"**")
	}
}
