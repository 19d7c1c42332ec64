package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// confirm asks a question on standard error, and takes nothing but yes for an answer. What a pipe or a file has to say
// is no answer: it was meant for something else.
func (a *app) confirm(question string) error {
	if !canAnswer(a.in) {
		return usagef("%s nobody can be asked without a terminal, and nothing was changed: give --yes", question)
	}
	fmt.Fprintf(a.err, "%s: %s [yes/no] ", a.path, question)
	var answer string
	if _, err := fmt.Fscanln(a.in, &answer); err != nil || answer == "" {
		fmt.Fprintln(a.err)
		return usagef("nothing was answered, and nothing was changed: give --yes where nobody can be asked")
	}
	if answer = strings.ToLower(answer); answer != "yes" && answer != "y" {
		return usagef("the answer was %q, so nothing was changed", answer)
	}
	return nil
}

// canAnswer tells whether somebody may sit behind the input. A reader that is no file belongs to a test.
func canAnswer(in io.Reader) bool {
	f, isFile := in.(*os.File)
	return !isFile || term.IsTerminal(int(f.Fd()))
}
