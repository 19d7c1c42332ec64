package handler

import (
	"fmt"
	"strings"
)

// checkHandler judges a function that is to be a handler. The checks read top-down, one guard and one sentence per
// mistake, the most telling first.
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
	case batchValue:
		if err := s.checkBatch(i, takes); err != nil {
			return err
		}
	case nearBatch:
		return s.refuse(takes, "work.Batch[A] for jobs that are taken together, whose args are an A",
			"take that; each of its items is a job")
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
		return s.refuse(takes+", by value", s.job, "take the pointer; Checkin works on the job itself")
	case jobPointerPointer:
		return s.refuse(takes, s.job, "drop one *")
	}
	return nil
}

// checkBatch judges a parameter that is a batch: it has the args of all jobs, and each item its job and its result.
func (s *signature) checkBatch(i int, takes string) error {
	wanted := s.together()
	switch {
	case s.isTail(i):
		return s.refuse(takes, wanted, "take it without the dots")
	case s.lead.job:
		return s.refuse(takes+", behind "+s.job, wanted, "drop the job: each item of the batch has its own")
	case i > s.lead.count() || len(s.in) > i+1:
		return s.refuse(takes+" beside other arguments", wanted,
			"give the jobs one argument, a struct with what they need, and take the batch of it alone")
	case len(s.out) == 2 && s.out[1].is == errorValue:
		return s.refuse(takes+" and returns "+typeNames(s.out), wanted,
			"return an error alone, and give each item its result with Return")
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
		return s.refuse(takes+", behind "+s.job, "context.Context before "+s.job, "swap the two")
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
