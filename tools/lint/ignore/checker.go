package ignore

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Checker is an analyzer that reports the directives which cannot work: those without a reason, those that name none of
// the known checks, and the forms that belong to other tools.
func Checker(known []string) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name: "ignorereason",
		Doc:  "reports directives without a reason, without a known check, or of a form that nothing here reads",
		Run: func(pass *analysis.Pass) (any, error) {
			for _, file := range pass.Files {
				for _, d := range directives(pass, file) {
					checkDirective(pass, d, known)
				}
				for _, group := range file.Comments {
					for _, comment := range group.List {
						if strings.HasPrefix(comment.Text, "//nolint") {
							pass.Reportf(comment.Pos(),
								"nothing reads //nolint: write //lint:ignore CHECK reason, or plain words")
						}
					}
				}
			}
			return nil, nil
		},
	}
}

func checkDirective(pass *analysis.Pass, d directive, known []string) {
	if d.reason == "" {
		pass.Reportf(d.pos, "a directive needs a check and a reason: //lint:ignore CHECK reason")
		return
	}
	for _, pattern := range d.checks {
		matches := func(check string) bool {
			matched, err := path.Match(pattern, check)
			return err == nil && matched
		}
		if !slices.ContainsFunc(known, matches) {
			pass.Reportf(d.pos, "no check is called %q", pattern)
		}
	}
}
