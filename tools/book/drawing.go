package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The measures of a picture, in its own units.
const (
	cellWidth, cellHeight = 190.0, 96.0
	boxWidth, boxHeight   = 138.0, 50.0
	lineHeight            = 15.0
	margin                = 14.0
)

// drawing is a picture: boxes in a grid, and arrows between them. It is read from lines:
//
//	title  what it shows, for those who do not see it
//	box    id column row  first line / second line
//	round  id column row  the same with round ends: where something begins or ends
//	note   column row  text without a box
//	arrow  from to  words       (arrow~ for a dashed one)
//
// Columns and rows may be fractions. A line that begins with # is a comment.
type drawing struct {
	title  string
	boxes  []box
	arrows []arrow
}

type box struct {
	id     string
	x, y   float64 // of its middle
	lines  []string
	round  bool
	isNote bool
}

type arrow struct {
	from, to *box
	words    string
	dashed   bool
}

// readDrawing reads the text of a picture.
func readDrawing(text string) (*drawing, error) {
	d := &drawing{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		if err := d.read(kind, strings.TrimSpace(rest)); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if d.title == "" || len(d.boxes) == 0 {
		return nil, errors.New("a picture needs a title and a box")
	}
	return d, nil
}

// read is one line, in the order in which they come: an arrow after its boxes.
func (d *drawing) read(kind, rest string) error {
	switch kind {
	case "title":
		d.title = rest
		return nil
	case "box", "round":
		words := strings.SplitN(rest, " ", 4)
		if len(words) < 4 {
			return errors.New("a box has an id, a column, a row and words")
		}
		return d.add(box{id: words[0], round: kind == "round"}, words[1], words[2], words[3])
	case "note":
		words := strings.SplitN(rest, " ", 3)
		if len(words) < 3 {
			return errors.New("a note has a column, a row and words")
		}
		return d.add(box{isNote: true}, words[0], words[1], words[2])
	case "arrow", "arrow~":
		words := strings.SplitN(rest, " ", 3)
		if len(words) < 2 {
			return errors.New("an arrow has two boxes")
		}
		a := arrow{from: d.find(words[0]), to: d.find(words[1]), dashed: kind == "arrow~"}
		if a.from == nil || a.to == nil {
			return fmt.Errorf("there is no box %s or %s above", words[0], words[1])
		}
		if len(words) == 3 {
			a.words = words[2]
		}
		d.arrows = append(d.arrows, a)
		return nil
	}
	return fmt.Errorf("unknown: %s", kind)
}

func (d *drawing) add(b box, column, row, words string) error {
	x, err := strconv.ParseFloat(column, 64)
	if err != nil {
		return err
	}
	y, err := strconv.ParseFloat(row, 64)
	if err != nil {
		return err
	}
	b.x, b.y = margin+boxWidth/2+x*cellWidth, margin+boxHeight/2+y*cellHeight
	for _, part := range strings.Split(words, " / ") {
		b.lines = append(b.lines, strings.TrimSpace(part))
	}
	d.boxes = append(d.boxes, b)
	return nil
}

func (d *drawing) find(id string) *box {
	for i := range d.boxes {
		if d.boxes[i].id == id && !d.boxes[i].isNote {
			return &d.boxes[i]
		}
	}
	return nil
}

// pictureHead has the colours of both themes. A picture has a ground of its own, so that it can be read wherever it is.
const pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[1]g"
 height="%[2]g" role="img">
<title>%[3]s</title>
<style>
.ground { fill: #ffffff; } .box { fill: #eef3fb; stroke: #4a6fa5; stroke-width: 1.3; } .words { fill: #1c2026; }
.line { stroke: #59616d; stroke-width: 1.4; fill: none; } .tip { fill: #59616d; } .said { fill: #3f4650; }
.halo { stroke: #ffffff; stroke-width: 5; stroke-linejoin: round; paint-order: stroke; }
text { font: 13px system-ui, "Segoe UI", Roboto, sans-serif; text-anchor: middle; } .said { font-size: 11.5px; }
@media (prefers-color-scheme: dark) {
.ground { fill: #14171c; } .box { fill: #22314a; stroke: #8ab8ff; } .words { fill: #e4e7ec; }
.line { stroke: #9aa3b0; } .tip { fill: #9aa3b0; } .said { fill: #c3cad4; } .halo { stroke: #14171c; }
}
</style>
<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"
 orient="auto-start-reverse">
<path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>
<rect class="ground" width="100%%" height="100%%"/>
`

// svg is the picture.
func (d *drawing) svg() []byte {
	var right, low float64
	for _, b := range d.boxes {
		right, low = max(right, b.x+boxWidth/2), max(low, b.y+boxHeight/2)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, pictureHead, right+margin, low+margin, html.EscapeString(d.title))
	for _, a := range d.arrows {
		a.draw(&out, d.has(a.to, a.from))
	}
	for _, b := range d.boxes {
		b.draw(&out)
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// has tells whether there is an arrow that way, so that two between the same boxes keep apart.
func (d *drawing) has(from, to *box) bool {
	for _, a := range d.arrows {
		if a.from == from && a.to == to {
			return true
		}
	}
	return false
}

func (b *box) draw(out *bytes.Buffer) {
	if !b.isNote {
		radius := 6.0
		if b.round {
			radius = boxHeight / 2
		}
		fmt.Fprintf(out, "<rect class=\"box\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"%g\"/>\n",
			b.x-boxWidth/2, b.y-boxHeight/2, boxWidth, boxHeight, radius)
	}
	top := b.y + 4.5 - lineHeight*float64(len(b.lines)-1)/2
	for i, line := range b.lines {
		class := "words"
		if i > 0 || b.isNote {
			class = "said"
		}
		fmt.Fprintf(out, "<text class=\"%s\" x=\"%g\" y=\"%g\">%s</text>\n", class, b.x, top+lineHeight*float64(i),
			html.EscapeString(line))
	}
}

// draw is a straight line from edge to edge, with its words in the middle. Of two opposite ones each keeps to its side.
func (a *arrow) draw(out *bytes.Buffer, both bool) {
	dx, dy := a.to.x-a.from.x, a.to.y-a.from.y
	length := math.Hypot(dx, dy)
	if length == 0 {
		return
	}
	aside := 0.0
	if both {
		aside = 11
	}
	sx, sy := -dy/length*aside, dx/length*aside
	x1, y1 := edge(a.from, dx, dy)
	x2, y2 := edge(a.to, -dx, -dy)
	dashes := ""
	if a.dashed {
		dashes = ` stroke-dasharray="5 4"`
	}
	fmt.Fprintf(out, "<path class=\"line\"%s d=\"M%.1f %.1fL%.1f %.1f\" marker-end=\"url(#tip)\"/>\n", dashes,
		x1+sx, y1+sy, x2+sx, y2+sy)
	if a.words == "" {
		return
	}
	x, y := (x1+x2)/2+sx*1.8, (y1+y2)/2+sy*1.8+4
	if dy == 0 && !both {
		y -= 10
	}
	for i, line := range strings.Split(a.words, " / ") {
		fmt.Fprintf(out, "<text class=\"said halo\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x, y+float64(i)*13,
			html.EscapeString(line))
	}
}

// edge is where a line from the middle of a box in a direction leaves it.
func edge(b *box, dx, dy float64) (x, y float64) {
	share := math.Inf(1)
	if dx != 0 {
		share = min(share, boxWidth/2/math.Abs(dx))
	}
	if dy != 0 {
		share = min(share, boxHeight/2/math.Abs(dy))
	}
	return b.x + dx*share, b.y + dy*share
}

// drawAll writes the pictures of docs/pictures.
func drawAll(root string) error {
	return eachDrawing(root, func(file string, picture []byte) error { return os.WriteFile(file, picture, 0o600) })
}

// eachDrawing draws each text of docs/pictures, and hands it out with the file that it belongs into.
func eachDrawing(root string, take func(file string, picture []byte) error) error {
	texts, err := filepath.Glob(filepath.Join(root, "docs", "pictures", "*.txt"))
	if err != nil {
		return err
	}
	for _, name := range texts {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		d, err := readDrawing(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := take(strings.TrimSuffix(name, ".txt")+".svg", d.svg()); err != nil {
			return err
		}
	}
	return nil
}
