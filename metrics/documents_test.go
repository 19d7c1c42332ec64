package metrics

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func TestTheTableOfTheDocsIsWhatIsExported(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	var told, exported []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(work_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*?) \\| [^|]+ \\|$").
		FindAllStringSubmatch(string(text), -1) {
		told = append(told, strings.Join(m[1:], " "))
	}
	for name, f := range everyFamily(t) {
		var labels []string
		for _, pair := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+pair.GetName()+"`")
		}
		exported = append(exported,
			strings.Join([]string{name, strings.ToLower(f.GetType().String()), strings.Join(labels, ", ")}, " "))
	}
	assert.ElementsMatch(t, exported, told)
	for _, outcome := range outcomeNames {
		assert.Contains(t, string(text), "`"+outcome+"`")
	}
	for _, name := range regexp.MustCompile(`work_[a-z_]+`).FindAllString(string(text), -1) {
		assert.NotNil(t, everySeries(t)[name], "%s is in the text, and not exported", name)
	}
}

// everySeries are the labels of everything that a query can name.
func everySeries(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for name, f := range everyFamily(t) {
		labels := []string{"instance", "job", "fleet"} // that are added by whoever scrapes or registers
		for _, pair := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, pair.GetName())
		}
		if f.GetType().String() != "HISTOGRAM" {
			all[name] = labels
			continue
		}
		all[name+"_bucket"] = append(slices.Clone(labels), "le")
		all[name+"_count"], all[name+"_sum"] = labels, labels
		all[name] = labels
	}
	return all
}

// checkQuery parses a query, and checks that each metric and label in it exists.
func checkQuery(t *testing.T, where, query string) {
	t.Helper()
	query = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$name", "a").Replace(query)
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if !assert.NoError(t, err, "%s: %s", where, query) {
		return
	}
	assert.Empty(t, problemsOf(expr, everySeries(t)), "%s: %s", where, query)
}

// problemsOf are the metrics and labels of a query that do not exist.
func problemsOf(expr parser.Expr, series map[string][]string) (problems []string) {
	var known []string // labels of all metrics in the query
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, is := node.(*parser.VectorSelector)
		if !is {
			return nil
		}
		labels, exists := series[selector.Name]
		if !exists {
			problems = append(problems, "there is no metric "+selector.Name)
		}
		known = append(known, labels...)
		for _, m := range selector.LabelMatchers {
			if m.Name != model.MetricNameLabel && exists && !slices.Contains(labels, m.Name) {
				problems = append(problems, selector.Name+" has no label "+m.Name)
			}
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if sum, is := node.(*parser.AggregateExpr); is {
			for _, label := range sum.Grouping {
				if !slices.Contains(known, label) {
					problems = append(problems, "no metric of the query has the label "+label)
				}
			}
		}
		return nil
	})
	return problems
}

func TestTheCheckOfQueriesFindsWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	series := map[string][]string{"work_a": {"name"}}
	for query, want := range map[string][]string{
		`sum by (name) (rate(work_a{name="x"}[5m]))`: nil,
		`work_b`:                 {"there is no metric work_b"},
		`work_a{queue="x"}`:      {"work_a has no label queue"},
		`sum by (queue)(work_a)`: {"no metric of the query has the label queue"},
	} {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
		require.NoError(t, err)
		assert.Equal(t, want, problemsOf(expr, series), query)
	}
}

func TestTheQueriesOfTheDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	queries := regexp.MustCompile("(?s)```promql\n(.*?)```|query: '([^'\n]+)'").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(queries), 2)
	for _, q := range queries {
		checkQuery(t, "docs/metrics.md", q[1]+q[2])
	}
}

// dashboard is the part of Grafana's format that is checked.
type dashboard struct {
	Title         string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Title, Type, Description string
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []struct{ Expr, RefID string }
}

func TestTheDashboardQueriesWhatIsExported(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/grafana-dashboard.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(text, &d))
	assert.NotEmpty(t, d.Title)
	assert.Positive(t, d.SchemaVersion)
	checkLayout(t, d.Panels)
	queries := 0
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			checkQuery(t, panel.Title, target.Expr)
			queries++
		}
	}
	assert.Greater(t, queries, 20)
	inVariables := regexp.MustCompile(`label_values\((work_[a-z_]+), *([a-z]+)\)`)
	for _, variable := range d.Templating.List {
		if variable.Type != "query" {
			continue
		}
		m := inVariables.FindStringSubmatch(variable.Definition)
		require.NotNil(t, m, variable.Definition)
		assert.Contains(t, everySeries(t)[m[1]], m[2])
	}
}

// checkLayout checks that panels have ids and places of their own, and say what they show.
func checkLayout(t *testing.T, panels []panel) {
	t.Helper()
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range panels {
		assert.False(t, ids[p.ID], "two panels have the id %d", p.ID)
		ids[p.ID] = true
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				require.Empty(t, taken[at], "%s covers it", p.Title)
				taken[at] = p.Title
			}
		}
		if p.Type != "row" {
			assert.NotEmpty(t, p.Description, p.Title)
			assert.NotEmpty(t, p.Targets, p.Title)
		}
	}
}

// ruleFile is the format of rule files, as far as ours need it: a field that is not here is an error.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr string
			For         string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

func TestTheAlertsAreRulesAboutWhatIsExported(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/alerts.yml")
	require.NoError(t, err)
	var rules ruleFile
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&rules))
	seen := map[string]bool{}
	documented, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	for _, group := range rules.Groups {
		assert.NotEmpty(t, group.Name)
		for _, rule := range group.Rules {
			assert.Regexp(t, "^Work[A-Za-z]+$", rule.Alert)
			assert.False(t, seen[rule.Alert], "%s is there twice", rule.Alert)
			seen[rule.Alert] = true
			checkQuery(t, rule.Alert, rule.Expr)
			if rule.For != "" {
				held, err := model.ParseDuration(rule.For)
				require.NoError(t, err, rule.Alert)
				assert.LessOrEqual(t, time.Duration(held), time.Hour, rule.Alert)
			}
			assert.Contains(t, []string{"page", "ticket"}, rule.Labels["severity"], rule.Alert)
			assert.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
			assert.NotEmpty(t, rule.Annotations["description"], rule.Alert)
			assert.Contains(t, string(documented), "`"+rule.Alert+"`", "what to do is not in docs/metrics.md")
		}
	}
	assert.Greater(t, len(seen), 10)
}
