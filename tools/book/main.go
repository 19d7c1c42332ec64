// Book makes a site of the pages of docs/: plain HTML and one style sheet, without scripts and without a request to
// anywhere else. It fails where a link of any page of the repository leads nowhere.
//
//	go run ./tools/book [-out DIR] [-draw]
//
// The order of the pages, and what they are called in the menu, stand in docs/README.md, which is the first page. The
// pictures in docs/pictures are drawn from the texts beside them: -draw writes them again.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the repository, a `DIR`")
	out := flag.String("out", ".cache/book", "where the site goes, a `DIR`")
	redraw := flag.Bool("draw", false, "draw the pictures of docs/pictures again, and end")
	flag.Parse()
	if *redraw {
		if err := drawAll(*root); err != nil {
			fail(err)
		}
		return
	}
	book, err := readBook(*root)
	if err != nil {
		fail(err)
	}
	if complaints := book.check(); len(complaints) > 0 {
		for _, complaint := range complaints {
			fmt.Fprintln(os.Stderr, "book:", complaint)
		}
		os.Exit(1)
	}
	if err := book.write(*out); err != nil {
		fail(err)
	}
	fmt.Printf("%d pages in %s, %d links checked\n", len(book.order), *out, book.checked)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "book:", err)
	os.Exit(1)
}
