package webui

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/265d0351/work/webui/internal/visit"
)

const (
	maxBody      = 2 << 20          // bytes of a body
	answerWithin = 30 * time.Second // for somebody who is not let in to take the answer
)

// readBody takes the whole body of somebody who was let in into memory, so that what runs then cannot wait for it, nor
// take a part of a form for all of it.
func (v *caller) readBody() error {
	if v.R.ContentLength == 0 {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(v.W, v.R.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return fmt.Errorf("the body has more than %d bytes: %w", tooLong.Limit, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &visit.StatusError{Status: http.StatusRequestTimeout,
			Text: fmt.Sprintf("the body did not come within %s: send it at once", bodyWithin)}
	case err != nil:
		return &visit.StatusError{Status: http.StatusBadRequest, Text: "the body breaks off: send all of it"}
	}
	v.R.Body, v.bodyRead = io.NopCloser(bytes.NewReader(body)), true
	return nil
}

// dismiss bounds an answer to a request that is refused. The server would wait for the rest of its body first, if the
// connection were to stay; HTTP/2 has many requests on one.
func (v *caller) dismiss() {
	if v.R.ContentLength != 0 && !v.bodyRead && v.R.ProtoMajor == 1 {
		v.W.Header().Set("Connection", "close")
	}
	if v.MaySee {
		return
	}
	server, _ := v.R.Context().Value(http.ServerContextKey).(*http.Server)
	if server == nil || server.WriteTimeout <= 0 {
		_ = http.NewResponseController(v.W).SetWriteDeadline(time.Now().Add(answerWithin)) // as in slowbody.Limit
	}
}
