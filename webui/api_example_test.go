package webui_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui"
)

// A program in another language enqueues a job, and since it has not heard the answer it asks again.
func ExampleOptions() {
	inspector, err := inspect.New("memory://webui-api")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = inspector.Close() }() // it was in memory
	enqueuer, err := work.NewEnqueuer("memory://webui-api")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = enqueuer.Close() }() // the same
	handler := webui.Handler(inspector, webui.Options{
		Authorize: func(*http.Request) (webui.Role, string, error) { return webui.RoleOperator, "shop", nil },
		Enqueuer:  enqueuer,
		Logger:    slog.New(slog.DiscardHandler),
	})
	ids := map[string]bool{}
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/api/jobs?force=true", strings.NewReader(`{"name": "mail", "args": ["ann"]}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "order 7")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var job struct{ ID, Name string }
		err := json.Unmarshal(w.Body.Bytes(), &job)
		fmt.Println(w.Code, job.Name, w.Header().Get("Idempotency-Replayed"), err)
		ids[job.ID] = true
	}
	fmt.Println(len(ids), "job")
	// Output:
	// 201 mail  <nil>
	// 201 mail true <nil>
	// 1 job
}
