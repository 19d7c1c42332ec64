package main

import (
	"math"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// certain notes the commands that every way to a line has called, where a refusal would have ended the script: what
// stands in no branch and no loop that is over before the line. within are the functions that are being looked into.
func (f functions) certain(block []ast.Stmt, line int, commands map[string]bool, within []string) {
	for _, statement := range block {
		if statement.Line() >= line {
			return
		}
		switch statement := statement.(type) {
		case *ast.LocalAssignStmt:
			f.certainOf(statement.Exprs, commands, within)
		case *ast.AssignStmt:
			f.certainOf(statement.Rhs, commands, within)
		case *ast.ReturnStmt:
			f.certainOf(statement.Exprs, commands, within)
		case *ast.FuncCallStmt:
			f.certainOf([]ast.Expr{statement.Expr}, commands, within)
		case *ast.DoBlockStmt:
			f.certain(statement.Stmts, line, commands, within)
		case *ast.IfStmt:
			f.certainOf([]ast.Expr{statement.Condition}, commands, within)
			for _, branch := range [][]ast.Stmt{statement.Then, statement.Else} {
				if holds(branch, line) {
					f.certain(branch, line, commands, within)
				}
			}
		}
	}
}

// holds reports whether a line that is no statement stands behind the beginning of a block and before its last line.
func holds(block []ast.Stmt, line int) bool {
	return len(block) > 0 && block[0].Line() < line && line < block[len(block)-1].LastLine()
}

// certainOf notes what is called by expressions whatever the values are. An "or" whose right side is bad() ends the
// script where its left side is something: otherwise both sides are called.
func (f functions) certainOf(exprs []ast.Expr, commands map[string]bool, within []string) {
	for _, expr := range exprs {
		switch expr := expr.(type) {
		case *ast.LogicalOpExpr:
			f.certainOf([]ast.Expr{expr.Lhs}, commands, within)
			if expr.Operator == "or" && isBad(expr.Rhs) {
				f.certainOf([]ast.Expr{expr.Rhs}, commands, within)
			}
		case *ast.RelationalOpExpr:
			f.certainOf([]ast.Expr{expr.Lhs, expr.Rhs}, commands, within)
		case *ast.ArithmeticOpExpr:
			f.certainOf([]ast.Expr{expr.Lhs, expr.Rhs}, commands, within)
		case *ast.StringConcatOpExpr:
			f.certainOf([]ast.Expr{expr.Lhs, expr.Rhs}, commands, within)
		case *ast.UnaryNotOpExpr:
			f.certainOf([]ast.Expr{expr.Expr}, commands, within)
		case *ast.AttrGetExpr:
			f.certainOf([]ast.Expr{expr.Object}, commands, within)
		case *ast.FuncCallExpr:
			f.certainCall(expr, commands, within)
		}
	}
}

func (f functions) certainCall(call *ast.FuncCallExpr, commands map[string]bool, within []string) {
	f.certainOf(append([]ast.Expr{call.Receiver}, call.Args...), commands, within)
	if attribute(call.Func, "redis") == "call" || isBad(call) {
		if all := commandsOf(call); len(all) == 1 { // of two either may be the one
			commands[all[0]] = true
		}
	}
	name, ok := call.Func.(*ast.IdentExpr)
	if ok && f[name.Value] != nil && !slices.Contains(within, name.Value) {
		f.certain(f[name.Value].Stmts, math.MaxInt, commands, append(within, name.Value))
	}
}
