package sleeping

import (
	"testing"
	"testing/synctest"
	"time"
	other "time"
)

type clock struct{}

func (clock) Sleep(time.Duration) {}

func wait() {
	time.Sleep(time.Second) // want `a test must not sleep`
	nap := other.Sleep      // want `a test must not sleep`
	nap(time.Second)
	clock{}.Sleep(time.Second)
	<-time.After(time.Second)
}

func TestBubble(t *testing.T) {
	synctest.Test(t, func(*testing.T) { time.Sleep(time.Hour) })
	time.Sleep(time.Second) // want `a test must not sleep`
}
