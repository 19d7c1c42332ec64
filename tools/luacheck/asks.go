package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// ask is what a line begins with that asks Redis, before a script's first write, whether its user may run some
// commands: see lua/ask.go.
const ask = "-- ASK"

// functions are those that a script may call by name: of the prelude, and its own.
type functions map[string]*ast.FunctionExpr

// named returns the functions that a text defines by "local function".
func named(chunk []ast.Stmt) functions {
	all := functions{}
	walk(chunk, func(node any) bool {
		if name, function := definition(node); function != nil {
			all[name] = function
		}
		return true
	})
	return all
}

// definition returns the name and the function of "local function name() ... end", and nil for anything else.
func definition(node any) (string, *ast.FunctionExpr) {
	local, ok := node.(*ast.LocalAssignStmt)
	if !ok || len(local.Names) != 1 || len(local.Exprs) != 1 {
		return "", nil
	}
	function, _ := local.Exprs[0].(*ast.FunctionExpr)
	return local.Names[0], function
}

// question is a line that asks, with the commands that the script may call behind it, and those that it certainly has
// called before.
type question struct {
	line           int
	commands       []string
	behind, before map[string]bool
}

// checkAsks compares each line that asks with what the script calls behind it and before it.
func checkAsks(source string, chunk []ast.Stmt, prelude functions, found *findings) {
	known := functions{}
	maps.Copy(known, prelude)
	maps.Copy(known, named(chunk))
	number := 0
	for line := range strings.Lines(source) {
		number++
		commands, asks := strings.CutPrefix(strings.TrimSpace(line), ask)
		if !asks {
			continue
		}
		if _, rest, conditional := strings.Cut(commands, ":"); conditional {
			commands = rest
		}
		if inFunction(chunk, number) {
			found.add(number, "a line that asks stands in a function, which would return the refusal to the script")
			continue
		}
		q := question{number, strings.Fields(commands), known.behind(chunk, number), map[string]bool{}}
		known.certain(chunk, number, q.before, nil)
		q.check(found)
	}
}

// checkSharedAsks lets a function of the prelude ask whose name ends in "_denied": its callers return what it returns.
func checkSharedAsks(source string, chunk []ast.Stmt, found *findings) {
	number := 0
	for line := range strings.Lines(source) {
		number++
		if !strings.HasPrefix(strings.TrimSpace(line), ask) {
			continue
		}
		denies := false
		for name, function := range named(chunk) {
			inside := function.Line() <= number && number <= function.LastLine()
			denies = denies || inside && strings.HasSuffix(name, "_denied")
		}
		if !denies {
			found.add(number, "a line that asks stands in a function of the prelude which is not called *_denied: its "+
				"callers would take the refusal for an answer")
		}
	}
}

func (q question) check(found *findings) {
	for command := range q.before {
		if !slices.Contains(reading, command) {
			found.add(q.line, "the script has called %s before it asks: ask before the first write", command)
		}
	}
	for i, command := range q.commands {
		switch {
		case slices.Contains(q.commands[:i], command):
			found.add(q.line, "the line asks for %s twice", command)
		case !q.behind[command]:
			found.add(q.line, "the line asks for %s, which the script does not call behind it", command)
		case q.before[command]:
			found.add(q.line, "the line asks for %s, which the script has called before: Redis allows it", command)
		}
	}
	if len(q.commands) == 0 {
		found.add(q.line, "the line asks for no command")
	}
}

func inFunction(chunk []ast.Stmt, line int) (inside bool) {
	walk(chunk, func(node any) bool {
		function, ok := node.(*ast.FunctionExpr)
		inside = inside || ok && function.Line() <= line && line <= function.LastLine()
		return true
	})
	return inside
}

// behind are the commands that may be called behind a line, in the functions that are called there too.
func (f functions) behind(chunk []ast.Stmt, line int) map[string]bool {
	commands, seen := map[string]bool{}, map[string]bool{}
	var visit func(tree any, from int)
	visit = func(tree any, from int) {
		walk(tree, func(node any) bool {
			if _, function := definition(node); function != nil {
				return false // what it calls counts where it is called
			}
			call, ok := node.(*ast.FuncCallExpr)
			if !ok || call.Line() < from {
				return true
			}
			for _, command := range commandsOf(call) {
				commands[command] = true
			}
			if name := calledBy(call); f[name] != nil && !seen[name] {
				seen[name] = true
				visit(f[name].Stmts, 0)
			}
			return true
		})
	}
	visit(chunk, line)
	return commands
}

// calledBy is the name of the function that a call calls: serve of "serve(n)", of "pcall(serve, n)", and of
// "lines.serve(n)", where the script has put a function of the prelude.
func calledBy(call *ast.FuncCallExpr) string {
	switch function := call.Func.(type) {
	case *ast.IdentExpr:
		if function.Value == "pcall" {
			if given, ok := call.Args[0].(*ast.IdentExpr); ok {
				return given.Value
			}
		}
		return function.Value
	case *ast.AttrGetExpr:
		if name, ok := function.Key.(*ast.StringExpr); ok {
			return name.Value
		}
	}
	return ""
}

// commandsOf are the commands that a call may run: those of redis.call and redis.pcall, and that of bad.
func commandsOf(call *ast.FuncCallExpr) (commands []string) {
	name := attribute(call.Func, "redis")
	if len(call.Args) == 0 || name != "call" && name != "pcall" && !isBad(call) {
		return nil
	}
	walk(call.Args[0], func(inner any) bool {
		if command, ok := inner.(*ast.StringExpr); ok {
			commands = append(commands, command.Value)
		}
		return true
	})
	return commands
}

// isBad tells bad('ZCARD', key), which returns what Redis refuses, so that the script ends.
func isBad(expr ast.Expr) bool {
	call, ok := expr.(*ast.FuncCallExpr)
	if !ok {
		return false
	}
	name, ok := call.Func.(*ast.IdentExpr)
	return ok && name.Value == "bad"
}
