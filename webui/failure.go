package webui

import (
	"context"
	"errors"
	"net/http"

	"github.com/265d0351/work"
)

// statusError is an answer other than 200, in words for people.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

var errNoPage = &statusError{http.StatusNotFound, "there is no such page"}

// errNoToken comes with a form that asks for it.
var errNoToken = &statusError{http.StatusUnauthorized,
	"log in to see this: type the token here, or open the address with ?token= in it that was " +
		"printed when the dashboard started. Programs send it as Authorization: Bearer"}

// badRequest says what is wrong with what was asked.
func badRequest(text string) error { return &statusError{http.StatusBadRequest, text} }

// fail answers with a page that says what is wrong, or a program with JSON.
func (v *visit) fail(err error) {
	if v.isAPI() {
		v.failAPI(err)
		return
	}
	status := statusOf(err)
	if status >= http.StatusInternalServerError {
		v.options.Logger.Warn("dashboard: a request failed", "path", v.path, "error", err)
	}
	v.render(status, "failure", page{Title: http.StatusText(status), Body: struct {
		Status int
		Text   string
		Token  bool // it is asked for
	}{status, err.Error(), errors.Is(err, errNoToken)}})
}

// statusOf is the status that fits an error.
func statusOf(err error) int {
	var (
		answer  *statusError
		invalid *work.InvalidError
		limit   *work.LimitError
		state   *work.StateError
		far     *work.FarError
		late    *work.CancelError
		twin    *work.DuplicateError
		tooLong *http.MaxBytesError
	)
	switch {
	case errors.As(err, &answer):
		return answer.status
	case errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge
	case errors.As(err, &invalid), errors.As(err, &limit):
		return http.StatusBadRequest
	case errors.Is(err, work.ErrNotFound), errors.Is(err, work.ErrNoWorker), errors.Is(err, work.ErrNoSchedule),
		errors.Is(err, work.ErrNoQueue):
		return http.StatusNotFound
	case errors.As(err, &state), errors.As(err, &far), errors.As(err, &late), errors.As(err, &twin),
		errors.Is(err, work.ErrScheduleExists):
		return http.StatusConflict
	case errors.Is(err, work.ErrRedisFull), errors.Is(err, work.ErrClosed):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway // Redis has not answered as it should
}
