package console

// Steps show how far something is whose size is known only once it is under way: a bar, lines, or for a program objects
// among the output.
type Steps struct {
	console *Console
	kind    string
	shown   Progress // nil before the first step
}

// Steps begins to count things of a kind. Nothing is shown before the first Set.
func (c *Console) Steps(kind string) *Steps { return &Steps{console: c, kind: kind} }

// Set says how many of how many are done.
func (s *Steps) Set(done, total int) {
	if s.shown == nil {
		s.shown = s.begin(total)
	}
	s.shown.Set(min(done, total))
}

func (s *Steps) begin(total int) Progress {
	if s.console.JSON && !s.console.Quiet {
		return newObjects(s.console.Out, total)
	}
	return NewProgress(s.console, s.kind, total)
}

// Clear leaves the line of the terminal empty.
func (s *Steps) Clear() {
	if s.shown != nil {
		s.shown.Clear()
	}
}
