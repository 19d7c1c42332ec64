package rdb

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
)

// Limit is how many jobs of one queue may run; the zero value is no limit.
type Limit struct {
	Concurrent int           // at once, over all workers; 0 is not limited
	Jobs       int           // in each Per; 0 is not limited
	Per        time.Duration // whole milliseconds
	Burst      int           // that may begin one right after the other
}

// Rule is what restrains one queue, as it stands in the hash of limits. The zero value restrains nothing, and is not
// stored.
type Rule struct {
	Paused   bool
	Limit           // in force, or as soon as Filling is over
	Operator bool   // somebody has set Limit by hand, whatever the code declares
	Filling  string // a random value while what runs is counted: none begins until then
	Service  string // whose code declares a limit; "" where none does
	Code     Limit  // what it declares
}

// Text is the rule as it is stored: what scripts read comes first, see room in lua/prelude.lua.
func (r Rule) Text() string {
	if r == (Rule{}) {
		return ""
	}
	fields := append([]string{"0"}, r.Limit.fields()...)
	if r.Paused {
		fields[0] = "1"
	}
	wanted := fields[1]
	if r.Filling != "" {
		fields[1] = "0"
		wanted += ":" + r.Filling
	}
	by := "code"
	if r.Operator {
		by = "operator"
	}
	service, code := "-", "-"
	if r.Service != "" {
		service, code = url.QueryEscape(r.Service), strings.Join(r.Code.fields(), ",")
	}
	return strings.Join(append(fields, by, wanted, service, code), " ")
}

func (l Limit) fields() []string {
	fields := []string{"-", "-", "-", "-"}
	if l.Concurrent > 0 {
		fields[0] = strconv.Itoa(l.Concurrent)
	}
	if l.Jobs > 0 {
		fields[1], fields[2], fields[3] = strconv.Itoa(l.Jobs), strconv.FormatInt(millis(l.Per), 10),
			strconv.Itoa(l.Burst)
	}
	return fields
}

// RuleError says why a rule cannot be read.
type RuleError struct {
	Text string // of the rule
	Err  error
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("the rule %s cannot be read: %s", excerpt.Quoted(e.Text),
		excerpt.Text(e.Err.Error(), excerpt.Name))
}

// Unwrap returns the cause.
func (e *RuleError) Unwrap() error { return e.Err }

// ParseRule reads what Text has written; "" is the zero value.
func ParseRule(text string) (Rule, error) {
	if text == "" {
		return Rule{}, nil
	}
	fields := strings.Split(text, " ")
	if len(fields) != 9 {
		return Rule{}, &RuleError{Text: text, Err: fmt.Errorf("it has %d fields and should have 9", len(fields))}
	}
	wanted, token, _ := strings.Cut(fields[6], ":")
	limit, err := parseLimit([]string{wanted, fields[2], fields[3], fields[4]})
	r := Rule{Paused: fields[0] == "1", Limit: limit, Operator: fields[5] == "operator", Filling: token}
	if fields[7] != "-" && err == nil {
		if r.Service, err = url.QueryUnescape(fields[7]); err == nil {
			r.Code, err = parseLimit(strings.Split(fields[8], ","))
		}
	}
	if err != nil {
		return Rule{}, &RuleError{Text: text, Err: err}
	}
	return r, nil
}

func parseLimit(fields []string) (Limit, error) {
	var failed error
	number := func(i int) int {
		if i >= len(fields) || fields[i] == "-" {
			return 0
		}
		n, err := strconv.Atoi(fields[i])
		failed = cmp.Or(failed, err)
		return n
	}
	l := Limit{Concurrent: number(0), Jobs: number(1), Per: time.Duration(number(2)) * time.Millisecond,
		Burst: number(3)}
	return l, failed
}
