package handler

import (
	"fmt"
	"slices"
)

// checkMiddleware judges a function that is to be a middleware.
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
		{nextValue, s.next, "take it last and call it once to run the rest; a handler is registered with Job"},
		{contextValue, "context.Context", "take it, and pass it on to next"},
		{jobPointer, s.job, "take it between context and next"},
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
