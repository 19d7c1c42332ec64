package work

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Arguments follow encoding/json with two exceptions: the list must be as long as the parameters, and null needs a
// parameter that knows it (pointer, map, slice, interface, a type with an UnmarshalJSON of its own but not time.Time
// and big.Int). So unknown fields of a struct are ignored, which a rolling deploy needs. An any, wherever it is in a
// parameter, holds a number as float64, but no integer is rounded: one that a float64 cannot hold is an int64, beyond
// that a json.Number.

// signature is a function as it looks: what the checks below judge. They read top-down, one guard and one sentence per
// mistake, the most telling first.
type signature struct {
	role     string // "handler" or "middleware"
	function string // readable name, file and line
	own      string // the type C of the pool's context; empty when the pool has none
	in, out  []typeLooks
	variadic bool // the last of in is then one element of the tail
	lead     lead // which of the optional first parameters were found
}

// lead says which of the optional first parameters a function takes, always in this order: *C, context.Context, *Job.
type lead struct{ own, ctx, job bool }

func (l lead) count() (n int) {
	for _, taken := range []bool{l.own, l.ctx, l.job} {
		if taken {
			n++
		}
	}
	return n
}

// typeLooks is what matters about the type of one parameter or result.
type typeLooks struct {
	name          string
	is            typeRole
	structPointer bool
	receiver      bool // the function is a method of this type
	fault         *jsonFault
}

type typeRole int

const (
	anyType typeRole = iota
	ownPointer
	ownValue
	ownPointerPointer
	contextValue
	contextPointer
	jobPointer
	jobValue
	jobPointerPointer
	nextValue
	otherFunction
	errorValue
	concreteError
)

// jsonFault is a place in a type where there is something that JSON cannot carry.
type jsonFault struct {
	path   string // below the type, as ".Items[].Done"; empty for the type itself
	what   string // the type that is there
	remedy string
}

func (f *jsonFault) where() string {
	if f.path == "" {
		return ""
	}
	return fmt.Sprintf(", in which %s is %s", f.path, f.what)
}

func (s *signature) refuse(found, wanted, remedy string) error {
	return &SignatureError{Role: s.role, Function: s.function, Found: found, Wanted: wanted, Remedy: remedy}
}

// form is the whole shape, for mistakes that are not about one parameter.
func (s *signature) form() string {
	own := ""
	if s.own != "" {
		own = "[*" + s.own + ",] "
	}
	if s.role == "middleware" {
		return "func(" + own + "context.Context, *work.Job, work.NextFunc) error"
	}
	return "func(" + own + "[context.Context,] [*work.Job,] arguments...) error or (T, error)"
}

func (s *signature) refuseNil(what string) error {
	s.function = what
	return s.refuse("is nil", s.form(), "give it a function")
}

func (s *signature) refusePointer(what string) error {
	s.function = what
	return s.refuse("is a pointer to a function", s.form(), "give the function itself, without &")
}

func (s *signature) refuseValue(what string) error {
	s.function = what
	return s.refuse("is not a function", s.form(), "name the function or method without calling it")
}

func refusePrototype(what string, isNil bool) error {
	err := &SignatureError{Role: "prototype", Function: what, Wanted: "a struct, a pointer to a struct or nil"}
	if isNil {
		err.Found, err.Remedy = "is a nil pointer",
			"give NewWorkerPool a struct, or a plain nil for handlers without a context"
	} else {
		err.Found, err.Remedy = "is no struct", "make it a field of one"
	}
	return err
}

func (s *signature) checkHandler() error {
	if err := s.checkFirst(); err != nil {
		return err
	}
	s.findLead()
	for i := s.lead.count(); i < len(s.in); i++ {
		if err := s.checkArgument(i); err != nil {
			return err
		}
	}
	return s.checkResults()
}

// checkFirst looks for a first parameter that was meant to be the pool's context and is not.
func (s *signature) checkFirst() error {
	if len(s.in) == 0 || s.in[0].is != anyType || s.isTail(0) {
		return nil
	}
	first := s.in[0]
	leads := len(s.in) > 1 && !s.isTail(1) && (s.in[1].is == contextValue || s.in[1].is == jobPointer)
	if !first.receiver && !(first.structPointer && leads) {
		return nil
	}
	found := "is a method of " + first.name
	if !first.receiver {
		found = fmt.Sprintf("takes %s as its context, before %s", first.name, s.in[1].name)
	}
	const argument = "if it is an argument, take it behind context and job in a plain function"
	plain := strings.TrimPrefix(first.name, "*")
	if s.own == "" {
		return s.refuse(found, "no context, as the pool has none",
			fmt.Sprintf("give NewWorkerPool a %s{} instead of nil; %s", plain, argument))
	}
	return s.refuse(found, "*"+s.own+" as the context", fmt.Sprintf("register it with a pool made with %s{}; %s", plain,
		argument))
}

func (s *signature) findLead() {
	i := 0
	for _, optional := range []struct {
		is    typeRole
		found *bool
	}{{ownPointer, &s.lead.own}, {contextValue, &s.lead.ctx}, {jobPointer, &s.lead.job}} {
		if i < len(s.in) && s.in[i].is == optional.is && !s.isTail(i) {
			*optional.found = true
			i++
		}
	}
}

func (s *signature) isTail(i int) bool { return s.variadic && i == len(s.in)-1 }

func (s *signature) takes(i int) string {
	if s.isTail(i) {
		return fmt.Sprintf("takes ...%s as parameter %d", s.in[i].name, i+1)
	}
	return fmt.Sprintf("takes %s as parameter %d", s.in[i].name, i+1)
}

// checkArgument judges a parameter behind the lead: it has to come from JSON.
func (s *signature) checkArgument(i int) error {
	in := s.in[i]
	takes := s.takes(i)
	if s.isTail(i) && (in.is == ownPointer || in.is == contextValue || in.is == jobPointer) {
		return s.refuse(takes, "one "+in.name+" before the arguments", "take it without the dots")
	}
	if err := s.checkNearMiss(i); err != nil {
		return err
	}
	switch in.is {
	case ownPointer:
		return s.checkOwn(i, takes)
	case contextValue:
		return s.checkContext(i, takes)
	case jobPointer:
		return s.checkJob(takes)
	case nextValue:
		return s.refuse(takes, "a handler, which has no next", "register it with Middleware, or drop the parameter")
	}
	if in.fault == nil {
		return nil
	}
	return s.refuse(takes+in.fault.where(), "a type that encoding/json can decode", in.fault.remedy)
}

// checkNearMiss finds what was meant to be one of the special parameters and is one * away from it.
func (s *signature) checkNearMiss(i int) error {
	takes := s.takes(i)
	switch s.in[i].is {
	case ownValue:
		return s.refuse(takes+", by value", "*"+s.own,
			"take the pointer; what one middleware sets in a copy the next one does not see")
	case ownPointerPointer:
		return s.refuse(takes, "*"+s.own, "drop one *")
	case contextPointer:
		return s.refuse(takes, "context.Context", "drop the *; an interface is passed as it is")
	case jobValue:
		return s.refuse(takes+", by value", "*work.Job", "take the pointer; Checkin works on the job itself")
	case jobPointerPointer:
		return s.refuse(takes, "*work.Job", "drop one *")
	}
	return nil
}

func (s *signature) checkOwn(i int, takes string) error {
	if s.lead.own {
		return s.refuse(takes+" and as parameter 1", "it once", "drop the second one")
	}
	return s.refuse(takes+", behind "+s.in[i-1].name, "it as parameter 1",
		"move it to the front, or make the function a method of it")
}

func (s *signature) checkContext(i int, takes string) error {
	switch {
	case s.lead.ctx:
		return s.refuse(takes+" for the second time", "it once", "drop the second one")
	case s.lead.job && i == s.lead.count():
		return s.refuse(takes+", behind *work.Job", "context.Context before *work.Job", "swap the two")
	}
	return s.refuse(takes+", behind an argument", "it before the job and the arguments", "move it to the front")
}

func (s *signature) checkJob(takes string) error {
	if s.lead.job {
		return s.refuse(takes+" for the second time", "it once", "drop the second one")
	}
	return s.refuse(takes+", behind an argument", "it before the arguments", "move it to the front")
}

func (s *signature) checkResults() error {
	const wanted = "error or (T, error)"
	switch out := s.out; {
	case len(out) == 0:
		return s.refuse("returns nothing", wanted, "return an error, nil when the job is done")
	case len(out) > 2:
		return s.refuse(fmt.Sprintf("returns %d values", len(out)), wanted, "put the results into one struct")
	case out[len(out)-1].is == concreteError:
		return s.refuse("returns "+typeNames(out)+", a concrete error type", wanted,
			"return the interface error; a nil pointer in it would count as a failure")
	case len(out) == 1 && out[0].is != errorValue:
		return s.refuse("returns only "+out[0].name, wanted, fmt.Sprintf("return (%s, error)", out[0].name))
	case len(out) == 1:
		return nil
	case out[0].is == errorValue && out[1].is == errorValue:
		return s.refuse("returns two errors", wanted, "join them with errors.Join")
	case out[0].is == errorValue:
		return s.refuse("returns "+typeNames(out), wanted, "return the error last")
	case out[1].is != errorValue:
		return s.refuse("returns "+typeNames(out), wanted, "return an error last")
	case out[0].fault != nil:
		return s.refuse("returns "+out[0].name+" as its result"+out[0].fault.where(),
			"a type that encoding/json can encode", out[0].fault.remedy)
	}
	return nil
}

func (s *signature) checkMiddleware() error {
	if err := s.checkFirst(); err != nil {
		return err
	}
	for i := range s.in {
		if err := s.checkNearMiss(i); err != nil {
			return err
		}
	}
	s.findLead()
	if err := s.checkMiddlewareParameters(); err != nil {
		return err
	}
	switch out := s.out; {
	case len(out) == 0:
		return s.refuse("returns nothing", "error", "return what next returned")
	case len(out) > 1:
		return s.refuse(fmt.Sprintf("returns %d values", len(out)), "error",
			"return only the error; a result is the handler's")
	case out[0].is == concreteError:
		return s.refuse("returns "+out[0].name, "error",
			"return the interface; a nil pointer in it would count as a failure")
	case out[0].is != errorValue:
		return s.refuse("returns "+out[0].name, "error", "return what next returned")
	}
	return nil
}

func (s *signature) checkMiddlewareParameters() error {
	for _, needed := range []struct {
		is     typeRole
		name   string
		remedy string
	}{
		{nextValue, "work.NextFunc", "take it last and call it once to run the rest; a handler is registered with Job"},
		{contextValue, "context.Context", "take it, and pass it on to next"},
		{jobPointer, "*work.Job", "take it between context and next"},
	} {
		at := slices.IndexFunc(s.in, func(in typeLooks) bool { return in.is == needed.is })
		if at >= 0 {
			continue
		}
		if f := slices.IndexFunc(s.in, func(in typeLooks) bool { return in.is == otherFunction }); f >= 0 &&
			needed.is == nextValue {
			return s.refuse(s.takes(f), needed.name, "declare next with that type")
		}
		return s.refuse("takes "+typeNames(s.in)+", no "+needed.name, s.form(), needed.remedy)
	}
	n := s.lead.count()
	switch {
	case s.variadic:
		return s.refuse(s.takes(len(s.in)-1), s.form(), "take nothing with dots")
	case s.lead.ctx && s.lead.job && s.in[n].is == nextValue && len(s.in) == n+1:
		return nil
	case s.lead.ctx && s.lead.job && s.in[n].is == nextValue:
		return s.refuse("takes "+s.in[n+1].name+" behind next", s.form(),
			"drop it; a job's arguments go to the handler, job.Args has them as JSON")
	case s.lead.ctx && s.lead.job && s.in[n].is == anyType:
		return s.refuse("takes "+s.in[n].name+" before next", s.form(),
			"drop it; a job's arguments go to the handler, job.Args has them as JSON")
	}
	return s.refuse("takes "+typeNames(s.in), s.form(), "bring them into this order, each once")
}

func typeNames(list []typeLooks) string {
	var names []string
	for _, one := range list {
		names = append(names, one.name)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// readableFunction turns "example.com/shop.(*Context).CreateWatch" into "shop.(*Context).CreateWatch (handlers.go:12)".
func readableFunction(symbol, file string, line int) string {
	name := symbol[strings.LastIndexByte(symbol, '/')+1:]
	name = strings.ReplaceAll(strings.TrimSuffix(name, "-fm"), "%2e", ".")
	if file == "<autogenerated>" { // a promoted method: the compiler wrote the function
		return name
	}
	return fmt.Sprintf("%s (%s:%d)", name, filepath.Base(file), line)
}

// isMethodOf tells whether symbol is a method expression of the type: with a receiver, so neither bound to a value nor
// a closure inside a method.
func isMethodOf(symbol, typePrefix string) bool {
	method, ok := strings.CutPrefix(symbol, typePrefix)
	return ok && !strings.ContainsAny(method, ".-")
}

var errNullArgument = errors.New(
	"null is no such value, and the zero value would hide that: take a pointer where null is meant")
