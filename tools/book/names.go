package main

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// module is the one that pages link to.
const module = "github.com/265d0351/work"

// exportedNames knows what the packages of the repository export, as the anchors of their documentation name it.
type exportedNames struct {
	root  string
	known map[string]map[string]bool // by the folder of the package
}

// has tells whether a package exports a name, such as "WorkerPool" or "WorkerPool.Start".
func (e *exportedNames) has(dir, name string) bool {
	if e.known[dir] == nil {
		if e.known == nil {
			e.known = map[string]map[string]bool{}
		}
		e.known[dir] = e.read(dir)
	}
	return e.known[dir][name]
}

func (e *exportedNames) read(dir string) map[string]bool {
	names := map[string]bool{}
	sources, err := filepath.Glob(filepath.Join(e.root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return names
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		if file, err := parser.ParseFile(set, source, nil, parser.ParseComments); err == nil {
			files = append(files, file)
		}
	}
	pkg, err := doc.NewFromFiles(set, files, module+"/"+dir)
	if err != nil {
		return names
	}
	addFuncs(names, "", pkg.Funcs)
	addValues(names, pkg.Consts, pkg.Vars)
	for _, t := range pkg.Types {
		names[t.Name] = true
		addFuncs(names, "", t.Funcs)
		addFuncs(names, t.Name+".", t.Methods)
		addValues(names, t.Consts, t.Vars)
	}
	return names
}

func addFuncs(names map[string]bool, of string, funcs []*doc.Func) {
	for _, f := range funcs {
		names[of+f.Name] = true
	}
}

func addValues(names map[string]bool, groups ...[]*doc.Value) {
	for _, group := range groups {
		for _, value := range group {
			for _, name := range value.Names {
				names[name] = true
			}
		}
	}
}
