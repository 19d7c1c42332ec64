package webui

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/tries"
)

// Bounds of what people without a login can have written. An audit has 10,000 entries, of 90 days: guesses must not
// push out what people did.
const (
	loggedAtOnce  = 60
	loggedEvery   = 10 * time.Second
	auditedAtOnce = 20
	auditedEvery  = 15 * time.Minute
)

// failedLogins are told up to a bound, and beyond it counted.
type failedLogins struct {
	now func() time.Time

	mu            sync.Mutex
	lines, audits counted
}

// counted is a bucket that counts what it does not give.
type counted struct {
	tries.Bucket
	left int
}

func newFailedLogins(now func() time.Time) *failedLogins {
	return &failedLogins{now: now,
		lines:  counted{Bucket: tries.Bucket{Most: loggedAtOnce, Every: loggedEvery}},
		audits: counted{Bucket: tries.Bucket{Most: auditedAtOnce, Every: auditedEvery}}}
}

// take reports whether one more may be told, and how many were left out since the last one.
func (f *failedLogins) take(c *counted) (more int, may bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if c.Wait(now) > 0 {
		c.left++
		return 0, false
	}
	c.Take(now)
	more, c.left = c.left, 0
	return more, true
}

// log writes a line about a request of somebody who was not let in, if there is room.
func (f *failedLogins) log(v *caller, level slog.Level, text string, about ...any) {
	if more, may := f.take(&f.lines); may {
		v.site.options.Logger.Log(v.Ctx(), level, text, append(about, "remote", v.R.RemoteAddr, "left_out", more)...)
	}
}

// noteFailed tells the log and the audit of a wrong login.
func (v *caller) noteFailed(login *LoginError) {
	f, name := v.site.failed, format.Shorten(login.Tried, 200)
	detail := "the login was wrong"
	if login.Wait > 0 {
		detail = "too many wrong logins: the password was not compared"
	}
	f.log(v, slog.LevelWarn, "dashboard: a login failed", "user", name, "why", detail)
	if more, may := f.take(&f.audits); may {
		if more > 0 {
			detail += fmt.Sprintf(". %d more were left out", more)
		}
		v.tell(AuditEntry{Time: f.now(), Remote: v.R.RemoteAddr, Action: "/login", Targets: []string{name},
			Outcome: OutcomeRefused, Detail: detail})
	}
}
