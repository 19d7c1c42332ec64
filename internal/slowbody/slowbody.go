// Package slowbody keeps a client that sends the body of a request slowly, or not at all, from holding a connection for
// ever. Handlers that users mount into servers of their own call it before anything else. It reads nothing itself.
package slowbody

import (
	"net/http"
	"time"
)

// Within is how long the body of a request may take.
const Within = 30 * time.Second

// Limit gives the body of a request so much time, unless its server gives it less. A request without one is left as it
// is. A ResponseWriter that cannot set deadlines leaves that to its server: one that wraps another needs Unwrap.
//
// A server takes the limit off when the body has come whole, so that a long answer is not cut.
func Limit(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	if server != nil && server.ReadTimeout > 0 && server.ReadTimeout < Within {
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(Within)) // see above
}
