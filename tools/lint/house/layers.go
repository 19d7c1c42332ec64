package house

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// layer forbids an import to a package, or to a package and those below it.
type layer struct {
	of        string   // the package; a trailing slash includes the packages below it
	forbidden string   // the import; a trailing slash includes the packages below it
	except    []string // the files that may, if any
	why       string
}

var layers = []layer{
	{Root, "reflect", nil,
		"signatures are compiled in internal/handler; running a job inspects no types"},
	{Root, "github.com/gomodule/redigo/", []string{"connection.go"},
		"the driver is named in connection.go only, so that another fits beside it"},
	{Root + "/event", Root, nil, "events are a leaf: every part of the framework may tell them"},
	{Root + "/event", Root + "/", nil, "events are a leaf: every part of the framework may tell them"},
	{Root, Root + "/embedded", nil, "programs choose the in-process Redis by a blank import"},
	// visible.go shows hidden characters by internal/visible, redis.go and reader.go learn of partitions that are away
	// by internal/partly, and partitions.go moves jobs, which programs have no call for.
	{Root + "/cmd/", Root + "/internal/", []string{"visible.go", "redis.go", "reader.go", "partitions.go"},
		"commands use the public API only"},
	{Root + "/examples/", Root + "/internal/", nil, "examples use the public API only"},
	{Root + "/metrics/", Root + "/internal/", nil, "metrics use the public API only"},
	// as above, round.go and send.go hold the lease by which one of many dashboards tells of an alert, and the API
	// reads and writes JSON by internal/rawjson in body.go, enqueue.go and api.go, as strictly as programs do
	{Root + "/webui/", Root + "/internal/", []string{"visible_text.go", "site.go", "visit.go", "away.go", "watch.go",
		"find.go", "look.go", "round.go", "send.go", "body.go", "enqueue.go", "api.go"},
		"the web pages use the public API only"},
}

// Layers reports imports that cross the layers drawn in docs/architecture.md. Tests may cross them.
var Layers = &analysis.Analyzer{
	Name: "layers",
	Doc:  "reports imports that cross the project's layers, outside tests",
	Run:  runLayers,
}

func runLayers(pass *analysis.Pass) (any, error) {
	for _, file := range productFiles(pass) {
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the compiler says so
			}
			broken := slices.IndexFunc(layers, func(l layer) bool {
				return within(packagePath(pass), l.of) && within(imported, l.forbidden) && !bridges(pass, imported) &&
					!slices.Contains(l.except, fileName(pass, file))
			})
			if broken >= 0 {
				pass.Reportf(spec.Pos(), "%s must not import %q: %s", packagePath(pass), imported, layers[broken].why)
			}
		}
	}
	return nil, nil
}

// bridges tells whether that is an import by the command that takes jobs over from other libraries: it stores them by
// numbered calls of its own, which programs have none for.
func bridges(pass *analysis.Pass, imported string) bool {
	return within(packagePath(pass), Root+"/cmd/work/internal/migrate/") && within(imported, Root+"/internal/")
}

func within(path, area string) bool {
	if below, ok := strings.CutSuffix(area, "/"); ok {
		return path == below || strings.HasPrefix(path, area)
	}
	return path == area
}
