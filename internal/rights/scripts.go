package rights

import (
	"errors"
	"strings"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/redisconn"
)

// UnusableError says that a server cannot be used at all, and what to change. Nothing was written.
type UnusableError struct {
	Problem string
	Remedy  string
	Err     error // what the server said; may be nil
}

func (e *UnusableError) Error() string {
	text := e.Problem + ": " + e.Remedy
	if e.Err != nil {
		text += " (it said: " + excerpt.ErrorText(e.Err) + ")"
	}
	return excerpt.Cut(text)
}

// Unwrap returns a refusal: nothing was executed, and asking again would not help.
func (e *UnusableError) Unwrap() error {
	if e.Err != nil {
		return e.Err
	}
	return &redisconn.ServerError{Code: "UNUSABLE", Message: e.Problem}
}

// refusals are what servers and proxies say that run no scripts as they come, or none at all. All scripts here declare
// their keys, which are in one slot; a check of their text alone does not see that.
var refusals = []struct{ said, problem, remedy string }{
	{"bad lua script for redis cluster", "a proxy in front of this Redis checks the text of scripts and refuses ours",
		"set its parameter script_check_enable to 0 (Tair and ApsaraDB), or connect to the servers without the proxy"},
	{"undeclared key", "this server takes keys of a script for undeclared",
		"start Dragonfly with --default_lua_flags=allow-undeclared-keys, or set lua-strict-key-accessing to no " +
			"(Kvrocks)"},
	{"command eval not support", "the account of this Redis may not run scripts",
		"update the minor version of the instance, or use an account that may run EVAL and EVALSHA"},
	{"command evalsha not support", "the account of this Redis may not run scripts",
		"update the minor version of the instance, or use an account that may run EVAL and EVALSHA"},
	{"must be in same slot", "a proxy in front of this Redis does not go by hash tags",
		"have it hash the text between { and } of a key (hash_tag of twemproxy), or connect without it"},
	{"must in same slot", "a proxy in front of this Redis does not go by hash tags",
		"have it hash the text between { and } of a key, or connect without it"},
	{"Cross-slot queries are disabled", "redis-cluster-proxy refuses scripts with several keys",
		"connect to the cluster without it: redis+cluster://HOST:PORT"},
	{"unknown command 'eval", "this server or proxy runs no scripts, which everything here is made of",
		"connect to a Redis that has EVAL and EVALSHA, and look whether a rename-command or a setting of the " +
			"provider has taken them off"},
}

// ExplainScripts makes an *UnusableError of what a server or proxy says that refuses to run scripts. Other errors stay
// as they are.
func ExplainScripts(err error) error {
	var refused *redisconn.ServerError
	var wrong *redisconn.WrongServerError
	if !errors.As(err, &refused) || errors.As(err, &wrong) {
		return err
	}
	text := strings.ToLower(strings.ReplaceAll(refused.Message, "`", "'"))
	for _, known := range refusals {
		if strings.Contains(text, strings.ToLower(known.said)) {
			return &UnusableError{Problem: known.problem, Remedy: known.remedy, Err: refused}
		}
	}
	return err
}
