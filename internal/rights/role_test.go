package rights_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/rights"
	"github.com/265d0351/work/lua"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// scripts are all of them, but for those of the packages beside the framework.
func scripts(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../lua/*/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "../../lua/"), ".lua")
		if folder, _, _ := strings.Cut(name, "/"); !slices.Contains([]string{"thoonk", "recurring", "worqr"}, folder) {
			names = append(names, name)
		}
	}
	return names
}

// options are words in capitals of scripts that name no command there.
var options = []string{
	"BYLEX", "BYSCORE", "LIMIT", "MAXLEN", "PX", "RANK", "REV", "WITHSCORES", "WRONGTYPE", "RUN", "XX",
	"NX", "GT", "LEFT", "NOPERM", "BADKEY",
}

// commandsOf are those that a script may call, with the functions of the prelude that it uses: each word in capitals.
func commandsOf(t *testing.T, script string) (commands []string) {
	t.Helper()
	source, err := lua.Source(script)
	require.NoError(t, err)
	word := regexp.MustCompile(`'([A-Z]{2,})'`)
	for line := range strings.Lines(source) {
		line, _, _ = strings.Cut(line, "--")
		for _, found := range word.FindAllStringSubmatch(line, -1) {
			if !slices.Contains(options, found[1]) {
				commands = append(commands, found[1])
			}
		}
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}

// TestRolesHaveTheCommandsOfTheirScripts: what a script uses and its roles lack is refused in the middle of the work.
func TestRolesHaveTheCommandsOfTheirScripts(t *testing.T) {
	t.Parallel()
	for _, script := range scripts(t) {
		var callers []rights.Role
		for _, role := range rights.Roles() {
			if role.Scripts(script) {
				callers = append(callers, role)
				missing := slices.DeleteFunc(commandsOf(t, script),
					func(c string) bool { return slices.Contains(role.Commands(), c) })
				assert.Empty(t, missing, "add what %s uses to the commands of role %s", script, role)
			}
		}
		assert.NotEmpty(t, callers, "say in role.go whose script %s is", script)
	}
}

// sent are the commands that the packages which speak Redis send outside of scripts.
func sent(t *testing.T) (commands []string) {
	t.Helper()
	for _, folder := range []string{"../rdb", "../rdb/flowdb", "../rdb/flowlook", "../rdb/peopledb", "../redisconn"} {
		files, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				field, is := n.(*ast.KeyValueExpr)
				if !is || fmt.Sprint(field.Key) != "Command" {
					return true
				}
				if literal, is := field.Value.(*ast.BasicLit); is {
					word, err := strconv.Unquote(literal.Value)
					require.NoError(t, err)
					commands = append(commands, word)
				}
				return true
			})
		}
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}

// TestRolesHaveTheCommandsOfPrograms: every command that is sent is one of some role, and no role has one that neither
// a script of it nor a program sends.
func TestRolesHaveTheCommandsOfPrograms(t *testing.T) {
	t.Parallel()
	programs := append(sent(t), "EVAL", "EVALSHA", "SELECT", "PING", "SUBSCRIBE", "SSUBSCRIBE")
	for _, command := range programs {
		assert.True(t, slices.ContainsFunc(rights.Roles(), func(r rights.Role) bool {
			return slices.Contains(r.Commands(), command)
		}), "%s is sent and no role has it", command)
	}
	for _, role := range rights.Roles() {
		used := slices.Clone(programs)
		for _, script := range scripts(t) {
			if role.Scripts(script) {
				used = append(used, commandsOf(t, script)...)
			}
		}
		for _, command := range role.Commands() {
			assert.Contains(t, used, command, "role %s has no use for it", role)
		}
	}
}
