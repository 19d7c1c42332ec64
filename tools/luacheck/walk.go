package main

import (
	"reflect"

	"github.com/yuin/gopher-lua/ast"
)

// walk calls visit for every statement and expression in the tree, outer ones first; visit returns false to leave out
// what is inside. The library has no walk of its own, and its nodes are plain structs.
func walk(tree any, visit func(node any) bool) {
	walkValue(reflect.ValueOf(tree), visit)
}

func walkValue(value reflect.Value, visit func(node any) bool) {
	switch value.Kind() {
	case reflect.Interface:
		walkValue(value.Elem(), visit)
	case reflect.Pointer:
		if value.IsNil() {
			return
		}
		switch value.Interface().(type) {
		case ast.Stmt, ast.Expr:
			if !visit(value.Interface()) {
				return
			}
		}
		walkValue(value.Elem(), visit)
	case reflect.Slice:
		for i := range value.Len() {
			walkValue(value.Index(i), visit)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				walkValue(value.Field(i), visit)
			}
		}
	}
}
