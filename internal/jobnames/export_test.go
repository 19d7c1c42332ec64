package jobnames

// Kept is how many names are remembered.
func (s *Served) Kept() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.yes) + len(s.no)
}
