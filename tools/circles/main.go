// Circles tells, for each package of a workspace, how large it is and how its files hang together: which files use what
// other files declare, and which of them form circles (strongly connected components).
//
//	go run ./tools/circles [-v] [-bounds FILE] [PATTERN...]     PATTERN is as for go list, "work" by default
//
// With -bounds it fails where a package is larger, or more of a circle, than the file says.
//
// A package that reads well is a few files that use each other in one direction. A circle of two or three files is one
// idea in several files; a circle of thirty is a tangle.
package main

import (
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	verbose := flag.Bool("v", false, "list the files of the largest circle of each package")
	file := flag.String("bounds", "", "fail where a package is above what this `FILE` allows")
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"work"}
	}
	limits, err := readBounds(*file)
	if err != nil {
		fmt.Fprintln(os.Stderr, "circles:", err)
		os.Exit(2)
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
			packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}, patterns...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%-60s %6s %7s %9s %7s %8s\n", "package", "files", "lines", "exported", "arrows", "circle")
	above := 0
	for _, p := range loaded {
		if len(p.Syntax) == 0 {
			continue // nothing but tests
		}
		f, circle := measure(p)
		fmt.Printf("%-60s %6d %7d %9d %7d %8d\n", p.PkgPath, f.files, f.lines, f.exported, f.arrows, f.circle)
		if *verbose && len(circle) > 1 {
			fmt.Println("    " + strings.Join(circle, " "))
		}
		for _, complaint := range limits.complaints(p.PkgPath, f) {
			fmt.Fprintln(os.Stderr, "circles:", complaint)
			above++
		}
	}
	if above > 0 {
		os.Exit(1)
	}
}

// figures are how large a package is: its exported names with their methods, the arrows between its files, and how many
// files its largest circle has.
type figures struct{ files, lines, exported, arrows, circle int }

// measure looks at one package, and returns the files of its largest circle.
func measure(p *packages.Package) (figures, []string) {
	files := map[string]bool{}
	lines := 0
	for _, f := range p.Syntax {
		pos := p.Fset.Position(f.FileStart)
		files[filepath.Base(pos.Filename)] = true
		lines += p.Fset.File(f.FileStart).LineCount()
	}
	arrows := map[string]map[string]bool{}
	for ident, object := range p.TypesInfo.Uses {
		if object.Pkg() != p.Types || !object.Pos().IsValid() {
			continue
		}
		if v, ok := object.(*types.Var); ok && !v.IsField() && object.Parent() != p.Types.Scope() {
			continue // a local variable or a parameter
		}
		from, to := base(p, ident.Pos()), base(p, object.Pos())
		if from != to && files[from] && files[to] {
			if arrows[from] == nil {
				arrows[from] = map[string]bool{}
			}
			arrows[from][to] = true
		}
	}
	count := 0
	for _, to := range arrows {
		count += len(to)
	}
	circle := largest(files, arrows)
	return figures{len(files), lines, exported(p.Types), count, len(circle)}, circle
}

func base(p *packages.Package, pos token.Pos) string {
	return filepath.Base(p.Fset.Position(pos).Filename)
}

// exported counts the package's exported names and the exported methods of its types.
func exported(pkg *types.Package) int {
	n := 0
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		n++
		if named, ok := object.Type().(*types.Named); ok {
			if _, isType := object.(*types.TypeName); isType {
				for method := range named.Methods() {
					if method.Exported() {
						n++
					}
				}
			}
		}
	}
	return n
}

// largest is the largest strongly connected component (Tarjan's algorithm), sorted.
func largest(files map[string]bool, arrows map[string]map[string]bool) []string {
	index, low, on := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack, best []string
	next := 0
	var visit func(string)
	visit = func(v string) {
		next++
		index[v], low[v], on[v] = next, next, true
		stack = append(stack, v)
		for w := range arrows[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		var part []string
		for {
			w := stack[len(stack)-1]
			stack, on[w] = stack[:len(stack)-1], false
			part = append(part, w)
			if w == v {
				break
			}
		}
		if len(part) > len(best) {
			best = part
		}
	}
	for v := range files {
		if index[v] == 0 {
			visit(v)
		}
	}
	slices.Sort(best)
	return best
}
