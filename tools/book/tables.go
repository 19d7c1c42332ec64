package main

import (
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// tables puts each table into a box that scrolls by itself, so that a wide one does not make a phone scroll the page.
type tables struct{}

// RegisterFuncs is for [renderer.NodeRenderer].
func (tables) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(east.KindTable, func(
		w util.BufWriter, _ []byte, node ast.Node, entering bool,
	) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString("<div class=\"wide\" tabindex=\"0\"><table>\n")
		} else {
			_, _ = w.WriteString("</table></div>\n")
		}
		return ast.WalkContinue, nil
	})
}
