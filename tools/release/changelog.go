package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const unreleased = "## [Unreleased]\n"

// withHeading puts what is unreleased in a changelog under a heading of the version, and begins anew above it.
func withHeading(changelog, version string, day time.Time) (string, error) {
	before, after, found := strings.Cut(changelog, unreleased)
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no line %q", strings.TrimSpace(unreleased))
	}
	news, _, _ := strings.Cut(after, "\n## [")
	if strings.TrimSpace(news) == "" {
		return "", errors.New("CHANGELOG.md says nothing under Unreleased: write what the release brings")
	}
	heading := fmt.Sprintf("\n## [%s] - %s\n", strings.TrimPrefix(version, "v"), day.Format(time.DateOnly))
	return before + unreleased + heading + after, nil
}
