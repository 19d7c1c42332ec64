package main

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/modernize"
)

// A new version of a library brings new checks: each must be taken or refused, with a reason.
func TestEveryCheckIsChosenOrExcluded(t *testing.T) {
	t.Parallel()

	t.Run("staticcheck", func(t *testing.T) {
		t.Parallel()
		var offered []string
		for _, candidate := range fromStaticcheck() {
			offered = append(offered, candidate.Analyzer.Name)
		}
		checkDecided(t, offered, chosen, excludedChecks)
	})

	t.Run("modernize", func(t *testing.T) {
		t.Parallel()
		offered := names(modernize.Suite)
		for _, apart := range []*analysis.Analyzer{
			modernize.AppendClippedAnalyzer, modernize.BLoopAnalyzer, modernize.FmtAppendfAnalyzer,
			modernize.SlicesDeleteAnalyzer,
		} {
			offered = append(offered, apart.Name)
		}
		checkDecided(t, offered, names(modern), excludedModern)
	})

	t.Run("passes", func(t *testing.T) {
		t.Parallel()
		const prefix = "golang.org/x/tools/go/analysis/passes/"
		output, err := exec.Command("go", "list", prefix+"...").Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		var offered []string
		for _, line := range strings.Fields(string(output)) {
			name := strings.TrimPrefix(line, prefix)
			if !strings.Contains(name, "/") && name != "modernize" { // modernize has a list of its own
				offered = append(offered, name)
			}
		}
		checkDecided(t, offered, names(passes), excludedPasses)
	})
}

func checkDecided(t *testing.T, offered, taken []string, refused map[string]string) {
	t.Helper()
	for _, name := range offered {
		if slices.Contains(taken, name) == (refused[name] != "") {
			t.Errorf("%s must be in the list or be excluded with a reason, and not both", name)
		}
	}
	for _, name := range taken {
		if !slices.Contains(offered, name) {
			t.Errorf("%s is in the list, but the library has no such check", name)
		}
	}
	for name := range refused {
		if !slices.Contains(offered, name) {
			t.Errorf("%s is excluded, but the library has no such check", path.Base(name))
		}
	}
}

func names(list []*analysis.Analyzer) []string {
	var found []string
	for _, analyzer := range list {
		found = append(found, analyzer.Name)
	}
	return found
}

func TestTheListIsValid(t *testing.T) {
	t.Parallel()
	list := analyzers()
	if err := analysis.Validate(list); err != nil {
		t.Fatal(err)
	}
	found := names(list)
	slices.Sort(found)
	if unique := slices.Compact(slices.Clone(found)); len(unique) != len(found) {
		t.Errorf("a name is twice in the list: %v", found)
	}
}

func TestCalledByVet(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]bool{
		"":                           false,
		"work":                       false,
		"./internal/... ./cmd/...":   false,
		"-V=full":                    true,
		"-flags":                     true,
		"/tmp/unit/vet.cfg":          true,
		"-nilness=false unit.cfg":    true,
		"help":                       true,
		"help SA1019":                true,
		"./tools/lint/testdata/work": false,
	} {
		t.Run(arguments, func(t *testing.T) {
			t.Parallel()
			if got := calledByVet(strings.Fields(arguments)); got != want {
				t.Errorf("calledByVet(%q) = %v", arguments, got)
			}
		})
	}
}
