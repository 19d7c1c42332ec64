package main

import (
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// uses is what a script's body does with its parameters and with Redis.
type uses struct {
	tables   map[string]tableUse // "KEYS" and "ARGV"
	commands []string            // every command that may be called, each once
}

// tableUse tells which indexes of KEYS or ARGV are used.
type tableUse struct {
	indexes  []index
	computed int // a line on which an index is computed, so that it may be any; 0 when there is none
	unpacked int // a line that takes them all at once; 0 when there is none
}

type index struct{ number, line int }

func (u tableUse) has(number int) bool {
	return slices.ContainsFunc(u.indexes, func(i index) bool { return i.number == number })
}

// forbidden are the commands that no script may call, with what to do instead.
var forbidden = map[string]string{
	"KEYS": "name the key", "SCAN": "name the key", "DEL": "UNLINK frees what is large in another thread",
}

// inspector walks one script.
type inspector struct {
	uses  uses
	keys  map[string]bool // names of variables that hold elements of KEYS
	found *findings
}

func inspect(chunk []ast.Stmt, found *findings) uses {
	i := &inspector{uses: uses{tables: map[string]tableUse{}}, keys: map[string]bool{}, found: found}
	walk(chunk, i.nameKeys)
	walk(chunk, i.visit)
	return i.uses
}

// nameKeys notes the variables of "local a, b = unpack(KEYS, 1, 2)" and "local c = KEYS[3]".
func (i *inspector) nameKeys(node any) bool {
	local, ok := node.(*ast.LocalAssignStmt)
	if !ok {
		return true
	}
	for n, name := range local.Names {
		var value ast.Expr
		if len(local.Exprs) > 0 {
			value = local.Exprs[min(n, len(local.Exprs)-1)] // the last one gives all remaining names their values
		}
		i.keys[name] = i.keys[name] || isElement(value) || unpacked(value) == "KEYS"
	}
	return true
}

func (i *inspector) visit(node any) bool {
	switch node := node.(type) {
	case *ast.IdentExpr:
		if node.Value == "cjson" {
			i.found.add(node.Line(), "records are opaque bytes: cjson turns large numbers into other numbers")
		}
	case *ast.AttrGetExpr:
		i.useElement(node)
	case *ast.FuncCallExpr:
		if node.Func != nil && attribute(node.Func, "redis") == "error_reply" {
			walk(node.Args, func(inner any) bool {
				if element, ok := inner.(*ast.AttrGetExpr); ok {
					i.useElement(element)
				}
				return true
			})
			return false // an error may name a key
		}
		i.useAll(node)
		i.call(node)
	case *ast.StringConcatOpExpr:
		i.concat(node.Lhs)
		i.concat(node.Rhs)
	}
	return true
}

// useElement notes KEYS[3] and ARGV[i + 1].
func (i *inspector) useElement(node *ast.AttrGetExpr) {
	table, ok := node.Object.(*ast.IdentExpr)
	if !ok || table.Value != "KEYS" && table.Value != "ARGV" {
		return
	}
	use := i.uses.tables[table.Value]
	if number, ok := literal(node.Key); ok {
		use.indexes = append(use.indexes, index{number, node.Line()})
	} else {
		use.computed = node.Line()
	}
	i.uses.tables[table.Value] = use
}

// useAll notes unpack(KEYS), which may be any, and unpack(KEYS, 1, 3).
func (i *inspector) useAll(node *ast.FuncCallExpr) {
	table := unpacked(node)
	if table == "" {
		return
	}
	use := i.uses.tables[table]
	if len(node.Args) == 3 {
		first, knownFirst := literal(node.Args[1])
		last, knownLast := literal(node.Args[2])
		for number := first; knownFirst && knownLast && number <= last; number++ {
			use.indexes = append(use.indexes, index{number, node.Line()})
		}
		if knownFirst && knownLast {
			i.uses.tables[table] = use
			return
		}
	}
	use.unpacked = node.Line()
	i.uses.tables[table] = use
}

// call looks at redis.call and redis.pcall. The command may be chosen by an expression; each string in it counts.
func (i *inspector) call(node *ast.FuncCallExpr) {
	name := attribute(node.Func, "redis")
	if name != "call" && name != "pcall" || len(node.Args) == 0 {
		return
	}
	walk(node.Args[0], func(inner any) bool {
		command, ok := inner.(*ast.StringExpr)
		if !ok {
			return true
		}
		if instead := forbidden[command.Value]; instead != "" {
			i.found.add(node.Line(), "%s is forbidden in scripts: %s", command.Value, instead)
		}
		if !slices.Contains(i.uses.commands, command.Value) {
			i.uses.commands = append(i.uses.commands, command.Value)
		}
		return true
	})
	if len(node.Args) > 1 {
		switch node.Args[1].(type) {
		case *ast.StringExpr, *ast.StringConcatOpExpr:
			i.found.add(node.Line(), "a key that is not passed through KEYS: on a cluster that is an error")
		}
	}
}

func (i *inspector) concat(operand ast.Expr) {
	name, isName := operand.(*ast.IdentExpr)
	if isElement(operand) || isName && i.keys[name.Value] {
		i.found.add(operand.Line(), "a key built from another key: pass it through KEYS")
	}
}

// isElement tells KEYS[...].
func isElement(expr ast.Expr) bool {
	element, ok := expr.(*ast.AttrGetExpr)
	if !ok {
		return false
	}
	table, ok := element.Object.(*ast.IdentExpr)
	return ok && table.Value == "KEYS"
}

// unpacked returns KEYS or ARGV for unpack(KEYS, ...) or unpack(ARGV, ...), and "" for anything else.
func unpacked(expr ast.Expr) string {
	call, ok := expr.(*ast.FuncCallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	fn, ok := call.Func.(*ast.IdentExpr)
	if !ok || fn.Value != "unpack" {
		return ""
	}
	table, ok := call.Args[0].(*ast.IdentExpr)
	if !ok || table.Value != "KEYS" && table.Value != "ARGV" {
		return ""
	}
	return table.Value
}

// attribute returns x for "<object>.x", and "" for anything else.
func attribute(expr ast.Expr, object string) string {
	get, ok := expr.(*ast.AttrGetExpr)
	if !ok {
		return ""
	}
	name, ok := get.Object.(*ast.IdentExpr)
	key, isString := get.Key.(*ast.StringExpr)
	if !ok || !isString || name.Value != object {
		return ""
	}
	return key.Value
}

func literal(expr ast.Expr) (int, bool) {
	number, ok := expr.(*ast.NumberExpr)
	if !ok {
		return 0, false
	}
	value, err := strconv.Atoi(number.Value)
	return value, err == nil
}
