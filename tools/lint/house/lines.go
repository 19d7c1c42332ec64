package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/go/analysis"
)

const (
	maxColumns = 120
	tabColumns = 4
)

// LineLength reports lines that a reader with two files side by side, or a diff, cannot see whole. A line is left alone
// where column 120 is inside of a raw string, or of what an example should print: to break these would change them.
var LineLength = &analysis.Analyzer{
	Name: "linelength",
	Doc:  "reports lines of more than 120 columns, a tab taken for 4",
	Run:  runLineLength,
}

func runLineLength(pass *analysis.Pass) (any, error) {
	for _, file := range files(pass) {
		handle := pass.Fset.File(file.FileStart)
		source, err := pass.ReadFile(handle.Name())
		if err != nil {
			return nil, err
		}
		golden := goldenText(pass, file)
		number := 0
		for line := range strings.Lines(string(source)) {
			number++
			line = strings.TrimRight(line, "\r\n")
			columns := columnsOf(line)
			if columns <= maxColumns {
				continue
			}
			begin := handle.LineStart(number)
			if !golden.has(begin + token.Pos(bytesWithin(line, maxColumns))) {
				pass.Reportf(begin, "the line has %d columns, more than %d: break it where a reader would", columns,
					maxColumns)
			}
		}
	}
	return nil, nil
}

func columnsOf(line string) int {
	return utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
}

// bytesWithin is how many bytes of the line are in so many columns.
func bytesWithin(line string, columns int) int {
	for at, r := range line {
		columns--
		if r == '\t' {
			columns -= tabColumns - 1
		}
		if columns < 0 {
			return at
		}
	}
	return len(line)
}

// spans are parts of a file, each from its first byte to the one behind its last.
type spans [][2]token.Pos

// has tells whether the place is inside of a part: to break the line there would be to break it.
func (s spans) has(place token.Pos) bool {
	for _, span := range s {
		if span[0] < place && place < span[1] {
			return true
		}
	}
	return false
}

// outputs finds the comment that says what an example prints, as go test does.
var outputs = regexp.MustCompile(`(?i)^[[:space:]]*(unordered )?output:`)

func goldenText(pass *analysis.Pass, file *ast.File) spans {
	var golden spans
	ast.Inspect(file, func(node ast.Node) bool {
		if text, ok := node.(*ast.BasicLit); ok && text.Kind == token.STRING && strings.HasPrefix(text.Value, "`") {
			golden = append(golden, [2]token.Pos{text.Pos(), text.End()})
		}
		return true
	})
	if !isTest(pass, file) {
		return golden
	}
	for _, comment := range file.Comments {
		if outputs.MatchString(comment.Text()) {
			golden = append(golden, [2]token.Pos{comment.Pos(), comment.End()})
		}
	}
	return golden
}
