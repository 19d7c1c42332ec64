package alerts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Bounds of what a message may cost: so many posts of a round, with pauses between them.
const (
	postsOfRound = 3
	postTimeout  = 5 * time.Second
	postPause    = time.Second
	maxAnswer    = 4 << 10
)

// errRefused is a message that would be refused again as it is.
var errRefused = errors.New("it was refused")

// tell posts a message, again where that may help. No error has the address, which may be a secret.
func (s *sender) tell(ctx context.Context, m Message) error {
	body, err := m.write(s.template)
	for n := 0; err == nil && n < postsOfRound; n++ {
		err = s.post(ctx, body)
		if err == nil || errors.Is(err, errRefused) || n == postsOfRound-1 {
			return err
		}
		if !s.pause(ctx, s.times.pause<<n) {
			return err
		}
		err = nil
	}
	return err
}

func (s *sender) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address of the webhook cannot be used")
	}
	for name, values := range s.Header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return fmt.Errorf("the webhook does not answer: %w", err)
	}
	defer answer.Body.Close() //lint:ignore errcheck it was read
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return fmt.Errorf("the webhook has answered %d: %.200q", code, text)
	default:
		return fmt.Errorf("%w by the webhook with %d: %.200q", errRefused, code, text)
	}
}

// pause waits, and tells whether there was time to.
func (s *sender) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
