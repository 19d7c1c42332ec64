// Package mailing brings messages to jobs: to the partition where the job is, once each. An Enqueuer has one Sender.
// What a job does with a message is a matter of package longjob; how long is tried, of the caller.
package mailing

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// What Send may return beside the errors of Redis and of partitions.
var (
	ErrNoJob = errors.New("no partition has such a job")
	ErrFull  = errors.New("its mailbox is full")
)

// Sender sends messages. It is ready once its fields are set; all methods may be called concurrently.
type Sender struct {
	Directory *partition.Directory
	Store     func(number int) *rdb.Store
	// asks takes a step that may be taken twice until it is answered, or there is no more time
	Ask func(ctx context.Context, step func(context.Context) error) error

	mu   sync.Mutex
	idle []*lane // that nobody uses now
}

// lane numbers calls, of which one is under way at a time. Its number never goes back, in whichever partitions.
type lane struct {
	name   string
	number int64
}

// Send puts a message into the mailbox of a job. An error of Redis means that it may be there, or may not.
func (s *Sender) Send(ctx context.Context, id, name string, message []byte) error {
	in := s.take()
	defer s.give(in)
	absence := s.Directory.Absence()
	for {
		at, err := s.find(ctx, id)
		if err != nil {
			return err
		}
		if at >= 0 {
			in.number++ // whatever comes of it: of a call that was not answered nobody knows
			letter := rdb.Letter{ID: id, Name: name, JSON: message, Lane: in.name, Number: in.number}
			answer, err := s.send(ctx, at, letter)
			switch {
			case err != nil:
				return fmt.Errorf("it is not known whether it was stored: %w", err)
			case answer == rdb.SendDone:
				return nil
			case answer == rdb.SendFull:
				return ErrFull
			}
		}
		again, err := absence.Again(ctx, []string{id}) // it has been moved meanwhile, or there is none
		if err != nil {
			return err
		}
		if !again {
			return ErrNoJob
		}
	}
}

// find returns the partition that has the job, or -1. Where there is one only nobody needs to be asked.
func (s *Sender) find(ctx context.Context, id string) (at int, err error) {
	if s.Directory.Map().Single() {
		return 0, nil
	}
	err = s.Ask(ctx, func(ctx context.Context) (err error) {
		at, err = s.Directory.Find(ctx, id, func(ctx context.Context, number int) (bool, error) {
			return s.Store(number).HasRecord(ctx, id)
		})
		return err
	})
	return at, err
}

// send makes one call, again and again until it is answered: it counts once.
func (s *Sender) send(ctx context.Context, at int, letter rdb.Letter) (answer rdb.SendAnswer, err error) {
	err = s.Ask(ctx, func(ctx context.Context) (err error) {
		answer, err = s.Store(at).Send(ctx, letter)
		return err
	})
	return answer, err
}

// take takes a lane that nobody else uses, or begins one: there are as many as callers at a time.
func (s *Sender) take() *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		last := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return last
	}
	return &lane{name: ids.Random(16)}
}

func (s *Sender) give(in *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, in)
}
