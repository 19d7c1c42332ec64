package work

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/doctor.md explains each check under its name and severity, and nothing that is no check.
func TestEveryCheckIsExplained(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/doctor.md")
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
