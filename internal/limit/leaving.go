package limit

import (
	"strings"

	"github.com/265d0351/work/internal/rdb"
)

// leaving stands before the service whose limit goes with its queue.
const leaving = "leaving: "

// Leave marks the limit that code declares: it goes with its queue unless somebody declares it anew, or is found to
// serve it. It stays in force, and whoever dies leaves it so.
func Leave(rule *rdb.Rule) {
	if rule.Service != "" && !leaves(rule) {
		rule.Service = leaving + rule.Service
	}
}

func leaves(rule *rdb.Rule) bool { return strings.HasPrefix(rule.Service, leaving) }

// Left makes a rule what it is once its queue is gone: what code declares stays where a worker serves the name, or has
// declared it since Leave. Pauses and what an operator has set go.
func Left(rule *rdb.Rule, served bool) {
	if leaves(rule) && !served {
		*rule = rdb.Rule{}
		return
	}
	rule.Service = strings.TrimPrefix(rule.Service, leaving)
	rule.Paused, rule.Operator, rule.Limit = false, false, rule.Code
}
