package pages

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/265d0351/work/webui/internal/visit"
)

// stream sends events to a browser, which reads them as they come. One goroutine uses it.
type stream struct {
	v       *visit.Visit
	control *http.ResponseController
	begun   bool
}

func newStream(v *visit.Visit) *stream {
	return &stream{v: v, control: http.NewResponseController(v.W)}
}

// send sends events at once. An error says that the browser has gone.
func (s *stream) send(events []byte) error {
	if !s.begun {
		s.begun = true
		s.v.W.Header().Set("Content-Type", "text/event-stream")
		s.v.W.Header().Set("X-Accel-Buffering", "no")
		s.v.W.WriteHeader(http.StatusOK)
	}
	// not every ResponseWriter can; then its server's limit counts
	_ = s.control.SetWriteDeadline(time.Now().Add(livePatience))
	if _, err := s.v.W.Write(events); err != nil {
		return err
	}
	return s.control.Flush()
}

// sse writes an event as browsers read it: a line of data for each line.
func sse(name string, data []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\n", name)
	for line := range bytes.Lines(data) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// marked gives an event an id, from which a browser goes on that has lost its connection.
func marked(id string, event []byte) []byte { return append([]byte("id: "+id+"\n"), event...) }
