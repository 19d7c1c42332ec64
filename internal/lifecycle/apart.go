package lifecycle

import "github.com/265d0351/work/internal/excerpt"

// Apart calls code of a program in a goroutine of its own and waits for it: it may end that goroutine, as t.FailNow
// does, and the caller goes on. It returns what has become of it, where it has not returned; empty where it has.
func Apart(function func()) (failure string) {
	ended := make(chan string, 1)
	go func() {
		failure := "ended its goroutine"
		defer func() {
			if value := recover(); value != nil {
				failure = "panicked: " + excerpt.Describe(value)
			}
			ended <- failure
		}()
		function()
		failure = ""
	}()
	return <-ended
}
