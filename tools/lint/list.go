package main

import (
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/atomicalign"
	"golang.org/x/tools/go/analysis/passes/deepequalerrors"
	"golang.org/x/tools/go/analysis/passes/modernize"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/reflectvaluecompare"
	"golang.org/x/tools/go/analysis/passes/scannererr"
	"golang.org/x/tools/go/analysis/passes/sortslice"
	"golang.org/x/tools/go/analysis/passes/sqlrowserr"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"

	"github.com/265d0351/work/tools/lint/house"
	"github.com/265d0351/work/tools/lint/ignore"
)

// analyzers is the whole list, each honouring //lint:ignore. A check that is in a library we use and not here is in
// one of the lists of list_excluded.go, with a reason; a test finds those that are in neither.
func analyzers() []*analysis.Analyzer {
	list := []*analysis.Analyzer{uncheckedErrors, unusedCode}
	list = append(list, passes...)
	list = append(list, modern...)
	list = append(list, house.Analyzers...)
	list = append(list, chosenFromStaticcheck()...)
	known := make([]string, 0, len(list))
	for _, analyzer := range list {
		known = append(known, analyzer.Name)
	}
	list = append(list, ignore.Checker(known))
	ignore.Honour(list)
	return list
}

// passes are those of golang.org/x/tools that go vet, which CI runs beside this, leaves out.
var passes = []*analysis.Analyzer{
	atomicalign.Analyzer,         // 64-bit atomics on 32-bit machines
	deepequalerrors.Analyzer,     // reflect.DeepEqual of errors
	nilness.Analyzer,             // use of what is nil on every path
	reflectvaluecompare.Analyzer, // == of reflect.Values
	scannererr.Analyzer,          // a bufio.Scanner whose Err is not asked
	sortslice.Analyzer,           // sort.Slice of what is no slice
	sqlrowserr.Analyzer,          // sql.Rows whose Err is not asked
	unusedwrite.Analyzer,         // a field written and never read
}

// modern are the rewrites to newer Go that make a line shorter without a second thought.
var modern = []*analysis.Analyzer{
	modernize.AnyAnalyzer,
	modernize.AtomicTypesAnalyzer, // an atomic.Int64 cannot be read without its method
	modernize.ForVarAnalyzer,
	modernize.MapsLoopAnalyzer,
	modernize.MinMaxAnalyzer,
	modernize.OmitZeroAnalyzer, // omitempty that never omits
	modernize.PlusBuildAnalyzer,
	modernize.RangeIntAnalyzer,
	modernize.ReflectTypeForAnalyzer,
	modernize.SlicesContainsAnalyzer,
	modernize.SlicesSortAnalyzer,
	modernize.StdIteratorsAnalyzer,
	modernize.StringsBuilderAnalyzer,
	modernize.StringsCutAnalyzer,
	modernize.StringsCutPrefixAnalyzer,
	modernize.TestingContextAnalyzer, // t.Context() ends with the test
	modernize.WaitGroupGoAnalyzer,
}
