package house

import (
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Names reports packages and files whose name would fit anything.
var Names = &analysis.Analyzer{
	Name: "names",
	Doc:  "reports packages and files with names that say nothing",
	Run:  runNames,
}

var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "base", "manager", "misc", "shared"}

func runNames(pass *analysis.Pass) (any, error) {
	for _, file := range files(pass) {
		if slices.Contains(emptyNames, strings.TrimSuffix(pass.Pkg.Name(), "_test")) {
			pass.Reportf(file.Name.Pos(), "package %s could hold anything: name it after what it provides",
				pass.Pkg.Name())
		}
		noun := strings.TrimSuffix(strings.TrimSuffix(fileName(pass, file), ".go"), "_test")
		if slices.Contains(emptyNames, noun) {
			pass.Reportf(file.Name.Pos(), "file %s could hold anything: name it after the one noun inside",
				fileName(pass, file))
		}
	}
	return nil, nil
}
