package rdb

import (
	"cmp"
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// KeyRule is what restrains each key of one queue, as it stands in the hash of such rules. The zero value restrains
// nothing, and is not stored.
type KeyRule struct {
	Limit          // of each key
	Stopped   bool // no job of the key begins; only in the rule of a single key
	Ordered   bool // one after the other, in the order of their turns
	BackAgain bool // a job that is tried again goes to the back of its key, instead of holding it
	DeathStop bool // a job that has died holds its key, instead of letting the next go on

	Service  string // whose code declares it
	Revision int64  // grows with each change of the rule
}

// restrains tells whether the rule says anything.
func (r KeyRule) restrains() bool { return r.Limit != Limit{} || r.Stopped || r.Ordered }

// Text is the rule as it is stored: see key_rules in lua/prelude.lua.
func (r KeyRule) Text() string {
	if !r.restrains() {
		return ""
	}
	fields := append([]string{strconv.FormatInt(r.Revision, 10)}, r.Limit.fields()...)
	if r.Stopped {
		fields[1] = "0"
	}
	order := "-"
	if r.Ordered {
		order = "o" + map[bool]string{false: "h", true: "b"}[r.BackAgain] +
			map[bool]string{false: "g", true: "s"}[r.DeathStop]
	}
	service := "-"
	if r.Service != "" {
		service = url.QueryEscape(r.Service)
	}
	return strings.Join(append(fields, order, service), " ")
}

// ParseKeyRule reads what Text has written; "" is the zero value.
func ParseKeyRule(text string) (r KeyRule, err error) {
	if text == "" {
		return r, nil
	}
	fields := strings.Split(text, " ")
	if len(fields) != 7 {
		return r, &RuleError{Text: text, Err: errors.New("it should have 7 fields")}
	}
	revision, bad := strconv.ParseInt(fields[0], 10, 64)
	limit, worse := parseLimit(fields[1:5])
	r = KeyRule{Limit: limit, Stopped: fields[1] == "0", Revision: revision}
	if order := fields[5]; len(order) == 3 {
		r.Ordered, r.BackAgain, r.DeathStop = true, order[1] == 'b', order[2] == 's'
	}
	var worst error
	if fields[6] != "-" {
		r.Service, worst = url.QueryUnescape(fields[6])
	}
	if err := cmp.Or(bad, worse, worst); err != nil {
		return KeyRule{}, &RuleError{Text: text, Err: err}
	}
	return r, nil
}
