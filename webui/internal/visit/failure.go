package visit

import (
	"context"
	"errors"
	"net/http"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/objects"
	"github.com/265d0351/work/webui/internal/find"
)

// StatusError is an answer other than 200, in words for people.
type StatusError struct {
	Status int
	Text   string
}

func (e *StatusError) Error() string { return e.Text }

// ErrNoPage is the answer where there is none.
var ErrNoPage = &StatusError{http.StatusNotFound, "there is no such page"}

// ErrNoToken comes with a form that asks for it.
var ErrNoToken = &StatusError{http.StatusUnauthorized,
	"log in to see this: type the token here, or open the address with ?token= in it that was " +
		"printed when the dashboard started. Programs send it as Authorization: Bearer"}

// BadRequest says what is wrong with what was asked.
func BadRequest(text string) error { return &StatusError{http.StatusBadRequest, text} }

// StatusOf is the status that fits an error.
func StatusOf(err error) int {
	var (
		answer  *StatusError
		invalid *work.InvalidError
		limit   *work.LimitError
		state   *inspect.StateError
		far     *inspect.TooDeepError
		late    *work.CancelError
		twin    *work.DuplicateError
		tooLong *http.MaxBytesError
		unknown *inspect.UnknownNameError
		gone    *objects.VanishedError
		lost    *inspect.ArgsGoneError
	)
	switch {
	case errors.As(err, &answer):
		return answer.Status
	case errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &invalid), errors.As(err, &limit), errors.As(err, &unknown):
		return http.StatusBadRequest
	case errors.Is(err, work.ErrNotFound), errors.Is(err, inspect.ErrNoWorker), errors.Is(err, work.ErrNoSchedule),
		errors.Is(err, inspect.ErrNoQueue), errors.Is(err, flow.ErrNoFlow), errors.As(err, &gone):
		return http.StatusNotFound
	case errors.As(err, &state), errors.As(err, &far), errors.As(err, &late), errors.As(err, &twin),
		errors.As(err, &lost),
		errors.Is(err, work.ErrScheduleExists):
		return http.StatusConflict
	case errors.Is(err, work.ErrRedisFull), errors.Is(err, work.ErrClosed), errors.Is(err, find.ErrTooMany),
		errors.Is(err, ErrDisplaced):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway // Redis has not answered as it should
}

// IsRefusal tells that nothing was done because of where the job stands, from that nothing more can be done.
func IsRefusal(err error) bool {
	var state *inspect.StateError
	var far *inspect.TooDeepError
	var late *work.CancelError
	var invalid *work.InvalidError
	var twin *work.DuplicateError
	var lost *inspect.ArgsGoneError
	return errors.As(err, &state) || errors.As(err, &far) || errors.As(err, &late) || errors.As(err, &invalid) ||
		errors.As(err, &twin) || errors.As(err, &lost) ||
		errors.Is(err, work.ErrNotFound)
}
