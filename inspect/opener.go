package inspect

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
)

// Encoded tells that a value is stored by codecs (see docs/codecs.md), and what anybody may know of it: "sealed with
// key k2, 312 bytes". It is false for a value that stands in the open. An Inspector shows values as they are stored.
func Encoded(value json.RawMessage) (text string, is bool) {
	info, is := codec.InfoOf(value)
	if !is {
		return "", false
	}
	return info.String(), true
}

// Opener opens what codecs have stored, for those who may see it. All methods may be called concurrently.
type Opener struct{ codecs *codec.Chain }

// NewOpener makes an Opener that knows these codecs. It never encodes. The error is a *[work.InvalidError].
func NewOpener(codecs ...work.Codec) (*Opener, error) {
	chain, err := inside.NewCodecs("codecs of the Opener", codecs)
	if err != nil {
		return nil, err
	}
	return &Opener{chain}, nil
}

// Job opens the args and the result of a job, in their places. What does not open stays as it is stored: the error then
// has a *[work.CodecError] for each.
func (o *Opener) Job(job *JobInfo) error {
	args, err := o.open("the args of job "+excerpt.Brief(job.ID), codec.Args(job.Name), job.Args)
	if err == nil {
		job.Args = args
	}
	result, failed := o.open("the result of job "+excerpt.Brief(job.ID), codec.Result(job.ID), job.Result)
	if failed == nil {
		job.Result = result
	}
	return errors.Join(err, failed)
}

// Args opens the args of jobs of that name.
func (o *Opener) Args(name string, args json.RawMessage) (json.RawMessage, error) {
	return o.open("the args of job "+excerpt.Brief(name), codec.Args(name), args)
}

// Steps opens the values of the steps and messages of a job, in their places. Those that do not open stay as they are.
func (o *Opener) Steps(id string, steps *Steps) error {
	var all []error
	open := func(use string, value *json.RawMessage) {
		opened, err := o.open("a step of job "+excerpt.Brief(id), use, *value)
		if err == nil {
			*value = opened
		}
		all = append(all, err)
	}
	for n := range steps.Done {
		use := codec.Step(id, steps.Done[n].Name)
		if steps.Done[n].Kind == "message" {
			use = codec.Message(id, steps.Done[n].Name)
		}
		open(use, &steps.Done[n].Value)
	}
	for n := range steps.Mailbox {
		open(codec.Message(id, steps.Mailbox[n].Name), &steps.Mailbox[n].Value)
	}
	return errors.Join(all...)
}

func (o *Opener) open(what, use string, value json.RawMessage) (json.RawMessage, error) {
	open, err := o.codecs.Open(use, value)
	if err != nil {
		return nil, inside.CodecError(what, err)
	}
	return open, nil
}

// FullArgs is [Inspector.FullArgs] with all of them opened.
func (o *Opener) FullArgs(ctx context.Context, i *Inspector, id string) (json.RawMessage, error) {
	return i.fullArgs(ctx, id, o.codecs)
}
