package house

import (
	"go/ast"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// ExportedDoc reports exported names without a comment. ST1020 to ST1022 look at how a comment begins, none of them at
// whether there is one.
var ExportedDoc = &analysis.Analyzer{
	Name: "exporteddoc",
	Doc:  "reports exported names without a doc comment, outside commands and tests",
	Run:  runExportedDoc,
}

// selfEvident are methods whose contract is that of the interface in the standard library which they implement.
var selfEvident = []string{
	"Error", "Unwrap", "Is", "As", "String", "GoString", "Format", "LogValue",
	"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText",
	"Len", "Less", "Swap", "ServeHTTP", "Read", "Write", "Close",
}

func runExportedDoc(pass *analysis.Pass) (any, error) {
	if pass.Pkg.Name() == "main" {
		return nil, nil
	}
	for _, file := range productFiles(pass) {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				checkFuncDoc(pass, decl)
			case *ast.GenDecl:
				checkGroupDoc(pass, decl)
			}
		}
	}
	return nil, nil
}

func checkFuncDoc(pass *analysis.Pass, fn *ast.FuncDecl) {
	if told(fn.Doc) || !fn.Name.IsExported() {
		return
	}
	if fn.Recv != nil && (!exportedReceiver(fn.Recv) || slices.Contains(selfEvident, fn.Name.Name)) {
		return
	}
	reportUndocumented(pass, fn.Name)
}

func exportedReceiver(receiver *ast.FieldList) bool {
	expr := receiver.List[0].Type
	for {
		switch inner := expr.(type) {
		case *ast.StarExpr:
			expr = inner.X
		case *ast.IndexExpr:
			expr = inner.X
		case *ast.IndexListExpr:
			expr = inner.X
		case *ast.Ident:
			return inner.IsExported()
		default:
			return false
		}
	}
}

// checkGroupDoc accepts one comment for a group of constants or variables, but wants one for each type.
func checkGroupDoc(pass *analysis.Pass, decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			single := told(decl.Doc) && decl.Lparen == token.NoPos
			if spec.Name.IsExported() && !told(spec.Doc) && !single {
				reportUndocumented(pass, spec.Name)
			}
		case *ast.ValueSpec:
			if told(decl.Doc) || told(spec.Doc) || told(spec.Comment) {
				continue
			}
			if i := slices.IndexFunc(spec.Names, (*ast.Ident).IsExported); i >= 0 {
				reportUndocumented(pass, spec.Names[i])
			}
		}
	}
}

// told tells whether the comment has words: a directive such as //lint:ignore has none.
func told(comment *ast.CommentGroup) bool { return comment.Text() != "" }

func reportUndocumented(pass *analysis.Pass, name *ast.Ident) {
	pass.Reportf(name.Pos(), "exported %s has no comment: say what it promises, its units, its errors, who may call it",
		name.Name)
}
