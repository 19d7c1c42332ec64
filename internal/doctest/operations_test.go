package doctest_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// operationsPage is docs/operations.md by its headings, "" for what stands before the first one.
func operationsPage(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("docs/operations.md")
	require.NoError(t, err)
	sections, title := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		if heading, is := strings.CutPrefix(line, "#"); is && strings.HasPrefix(strings.TrimLeft(heading, "#"), " ") {
			title = strings.TrimSpace(strings.TrimLeft(heading, "#"))
			continue
		}
		sections[title] += line
	}
	return sections
}

// rowsOf are the words in code in the first column of a section's tables, and the second column of their row.
func rowsOf(section string) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < 2 {
			continue
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1) {
			rows[name[1]] = strings.TrimSuffix(cells[1], " |")
		}
	}
	return rows
}

func namesOf[T any](m map[string]T) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestEveryOptionIsInTheTable compares the tables with what the packages export: the fields of each struct that is
// named ...Options, and the functions that return a type that is named ...Option. The heading of a table names the
// type.
func TestEveryOptionIsInTheTable(t *testing.T) {
	t.Parallel()
	page := operationsPage(t)
	want := map[string]map[string]bool{}
	everySource(t, func(dir string, file *ast.File) {
		if public := !strings.Contains(dir+"/", "internal/") && file.Name.Name != "main"; public &&
			ast.FileExports(file) {
			optionsIn(file, want)
		}
	})
	delete(want, "inspect.JobInfoOptions") // what is read of a job
	require.Contains(t, want, "work.WorkerOptions")
	require.Contains(t, want, "work.EnqueueOption")

	for of, options := range want {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			section, found := page["`"+of+"`"]
			require.True(t, found, "a heading ### `%s`", of)
			assert.Equal(t, namesOf(options), namesOf(rowsOf(section)))
		})
	}
	for title := range page {
		if of := strings.Trim(title, "`"); strings.HasPrefix(title, "`") && strings.Contains(of, "Option") {
			assert.Contains(t, want, of, "a table of what is not there any more")
		}
	}
}

// optionsIn adds the options that a file declares, by their type.
func optionsIn(file *ast.File, all map[string]map[string]bool) {
	add := func(of, name string) {
		if all[of] == nil {
			all[of] = map[string]bool{}
		}
		all[of][name] = true
	}
	for _, declared := range file.Decls {
		switch d := declared.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil || d.Type.Results == nil || len(d.Type.Results.List) != 1 {
				continue
			}
			if result, is := d.Type.Results.List[0].Type.(*ast.Ident); is && strings.HasSuffix(result.Name, "Option") {
				add(file.Name.Name+"."+result.Name, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				of, is := spec.(*ast.TypeSpec)
				if !is || !strings.HasSuffix(of.Name.Name, "Options") {
					continue
				}
				if fields, is := of.Type.(*ast.StructType); is {
					for _, field := range fields.Fields.List {
						for _, name := range field.Names {
							add(file.Name.Name+"."+of.Name.Name, name.Name)
						}
					}
				}
			}
		}
	}
}

// everySource calls a function with each file of the workspace that is not for tests, and the directory that it is in.
func everySource(t *testing.T, look func(dir string, file *ast.File)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && name != "."):
			return fs.SkipDir
		case path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		look(filepath.ToSlash(filepath.Dir(name)), file)
		return nil
	}))
}

// TestDefaultsAreWhatTheTableSays: of all numbers and times that the library puts in the place of zero.
func TestDefaultsAreWhatTheTableSays(t *testing.T) {
	t.Parallel()
	page := operationsPage(t)
	compared := 0
	compare := func(of string, zero, full any) {
		rows := rowsOf(page["`"+of+"`"])
		for i := range reflect.TypeOf(full).NumField() {
			field, value := reflect.TypeOf(full).Field(i), reflect.ValueOf(full).Field(i)
			text, plain := shown(value)
			if !field.IsExported() || !plain || value.Equal(reflect.ValueOf(zero).Field(i)) {
				continue
			}
			compared++
			assert.Contains(t, rows[field.Name], text, "%s.%s", of, field.Name)
		}
	}
	usual := inside.Usual()
	compare("work.WorkerOptions", work.WorkerOptions{}, usual.Pool)
	compare("work.JobOptions", work.JobOptions{}, usual.Job)
	assert.Greater(t, compared, 6)

	rows := rowsOf(page["`work.EnqueuerOption`"])
	for option, value := range map[string]any{"Namespace": usual.Namespace, "EnqueueTimeout": usual.EnqueueTimeout} {
		text, _ := shown(reflect.ValueOf(value))
		assert.Contains(t, rows[option], text, option)
	}
}

// shown is how the page writes a value, if it is a number, a text or a time.
func shown(value reflect.Value) (text string, plain bool) {
	if d, is := value.Interface().(time.Duration); is {
		if d >= 48*time.Hour {
			return fmt.Sprintf("%d days", d/(24*time.Hour)), true
		}
		return fmt.Sprintf("%d s", d/time.Second), true
	}
	switch {
	case value.Kind() == reflect.String:
		return value.String(), true
	case value.CanInt() && value.Int() >= 1<<20 && value.Int()%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", value.Int()>>20), true
	case value.CanInt():
		return regexp.MustCompile(`(\d)(\d{3})\b`).ReplaceAllString(regexp.MustCompile(`(\d)(\d{6})$`).
			ReplaceAllString(strconv.FormatInt(value.Int(), 10), "$1,$2"), "$1,$2"), true
	}
	return "", false
}

// TestEveryParameterOfADSNIsInTheTable asks the library for those that it knows.
func TestEveryParameterOfADSNIsInTheTable(t *testing.T) {
	t.Parallel()
	_, err := work.NewEnqueuer("redis://localhost/0?nonsense_of_a_test=1")
	require.Error(t, err)
	_, list, found := strings.Cut(err.Error(), "known are ")
	require.True(t, found, err)
	assert.Equal(t, strings.Split(list, ", "), namesOf(rowsOf(operationsPage(t)["DSN"])))
}

// TestEveryVariableIsInTheTable: of the environment, in all that is not a test itself.
func TestEveryVariableIsInTheTable(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	everySource(t, func(dir string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			called, is := call.Fun.(*ast.SelectorExpr)
			if !is || called.Sel.Name != "Getenv" && called.Sel.Name != "LookupEnv" {
				return true
			}
			literal, is := call.Args[0].(*ast.BasicLit)
			if assert.True(t, is, "%s: a variable whose name is not written out", dir) {
				name, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				read[name] = true
			}
			return true
		})
	})
	assert.Equal(t, namesOf(read), namesOf(rowsOf(operationsPage(t)["Environment"])))
}

// TestTwoVersionsShareAQueueOnlyWhereBothHaveTheHandler: a version that lost a handler leaves its jobs alone, and
// another version beside it or after it runs them.
func TestTwoVersionsShareAQueueOnlyWhereBothHaveTheHandler(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan string, 10)
		handler := func(version string) any {
			return func(job *work.Job) error { ran <- version + " " + job.Name; return nil }
		}
		newer := k.Start(work.NewWorkerPool(nil, 2, k.Options()).Job("renamed", handler("newer")))
		k.Enqueue("name")
		k.Enqueue("renamed")
		assert.Equal(t, "newer renamed", pooltest.Receive(t, ran))
		require.NoError(t, newer.Drain(k.Ctx()))
		assert.Equal(t, 1, k.Number("LLEN", "queue:name"), "it waits, and no attempt is used")

		older := work.NewWorkerPool(nil, 2, k.Options()).Job("name", handler("older"))
		k.Start(older)
		assert.Equal(t, "older name", pooltest.Receive(t, ran))
		require.NoError(t, older.Drain(k.Ctx()))
		k.Empty("name", "renamed")
	})
}

// TestArgsOfAnotherVersionThatDoNotFitGoToTheMorgue, at once, and run when they are retried by a version that takes
// them.
func TestArgsOfAnotherVersionThatDoNotFitGoToTheMorgue(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		older := work.NewWorkerPool(nil, 1, k.Options()).Job("n", func(one string) error { return nil })
		require.NoError(t, older.Start(k.Ctx()))
		id := k.Enqueue("n", "one", "two").ID
		died := pooltest.Await(t, k.Spy, func(e event.JobBuried) bool { return e.ID == id })
		assert.Contains(t, died.Reason, "wanted a JSON array of 1")
		require.NoError(t, older.Stop(k.Ctx()))

		ran := make(chan string, 1)
		newer := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("n", func(one, two string) error { ran <- one + two; return nil }))
		require.NoError(t, k.ByHand().Retry(k.Ctx(), id))
		assert.Equal(t, "onetwo", pooltest.Receive(t, ran))
		require.NoError(t, newer.Drain(k.Ctx()))
		k.Empty("n")
	})
}

// TestConnectionsOfAPool counts, on a Redis of its own, what a pool has open: at work, as many as there ever were, and
// at rest. docs/operations.md says how many there can be.
func TestConnectionsOfAPool(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{20, 1000} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			t.Parallel()
			server := redistest.Dedicated(t)
			k := newKit(t, server.Server())
			jobs := 20 * concurrency
			entries := make([]work.Entry, jobs)
			for i := range entries {
				entries[i] = work.Entry{Name: []string{"a", "b", "c"}[i%3]}
			}
			_, err := k.Enq.EnqueueMany(k.Ctx(), entries)
			require.NoError(t, err)
			require.NoError(t, k.Enq.Close())

			admin, err := redis.Dial("tcp", server.Addr())
			require.NoError(t, err)
			defer admin.Close()
			most := map[string]int{}
			look := func() map[string]int {
				now := connectionsBeside(t, admin)
				for kind, n := range now {
					most[kind] = max(most[kind], n)
				}
				return now
			}
			require.Zero(t, look()["all"], "the enqueuer has closed its own")

			var done atomic.Int64
			handler := func() error { done.Add(1); return nil }
			pool := k.Start(work.NewWorkerPool(nil, concurrency, k.Options()).Job("a", handler).Job("b", handler).
				Job("c", handler))
			workers := 1
			k.Until("all are done", func() bool {
				look()
				workers = max(workers, len(pooltest.WorkerIDs(pool)))
				return done.Load() == int64(jobs)
			})
			require.NoError(t, pool.Drain(k.Ctx()))
			rest := look()
			t.Logf("concurrency %d, %d workers: at most %v, after the work %v", concurrency, workers, most, rest)

			assert.Equal(t, 1, most["subscribe"], "one worker listens for all")
			assert.LessOrEqual(t, most["all"], poolSizeOfThePage(t)+1+2*workers,
				"each worker beats on one of its own, and sleeps on another")
			assert.LessOrEqual(t, workers, (concurrency+pooltest.MaxPerWorker-1)/pooltest.MaxPerWorker)
		})
	}
}

// poolSizeOfThePage is the default of pool_size, as docs/operations.md says it.
func poolSizeOfThePage(t *testing.T) (n int) {
	t.Helper()
	page, err := os.ReadFile("docs/operations.md")
	require.NoError(t, err)
	found := regexp.MustCompile("(?m)^\\| `pool_size` \\| (\\d+) \\|").FindStringSubmatch(string(page))
	require.NotNil(t, found)
	_, err = fmt.Sscan(found[1], &n)
	require.NoError(t, err)
	return n
}

// connectionsBeside counts all other connections, and those of them that wait for messages or whose last command waited
// for a token.
func connectionsBeside(t *testing.T, admin redis.Conn) map[string]int {
	t.Helper()
	own, err := redis.Int(admin.Do("CLIENT", "ID"))
	require.NoError(t, err)
	list, err := redis.String(admin.Do("CLIENT", "LIST"))
	require.NoError(t, err)
	kinds := map[string]int{}
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, fmt.Sprintf("id=%d ", own)) {
			continue
		}
		kinds["all"]++
		if strings.Contains(line, " cmd=blpop ") {
			kinds["blpop"]++
		}
		if strings.Contains(line, " ssub=1 ") { // to the shard; its last command may be a probe
			kinds["subscribe"]++
		}
	}
	return kinds
}
