package console

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/265d0351/work/cmd/work/internal/exit"
)

// Confirm asks a question on standard error, and takes nothing but yes for an answer; any other is an error. What a
// pipe or a file has to say is no answer: it was meant for something else.
func (c *Console) Confirm(question string) error {
	if !c.CanAnswer() {
		return exit.Usagef("%s nobody can be asked without a terminal, and nothing was changed: give --yes", question)
	}
	fmt.Fprintf(c.Err, "%s: %s [yes/no] ", c.Command, question)
	var answer string
	if _, err := fmt.Fscanln(c.In, &answer); err != nil || answer == "" {
		fmt.Fprintln(c.Err)
		return exit.Usagef("nothing was answered, and nothing was changed: give --yes where nobody can be asked")
	}
	if answer = strings.ToLower(answer); answer != "yes" && answer != "y" {
		return exit.Usagef("the answer was %q, so nothing was changed", answer)
	}
	return nil
}

// CanAnswer tells whether somebody may sit behind the input. A reader that is no file belongs to a test.
func (c *Console) CanAnswer() bool {
	f, isFile := c.In.(*os.File)
	return !isFile || term.IsTerminal(int(f.Fd()))
}
