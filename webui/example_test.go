package webui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	_ "github.com/265d0351/work/embedded"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui"
)

// The dashboard stands below a prefix of a program's own pages, which say who somebody is.
func ExampleHandler() {
	inspector, err := inspect.New("memory://webui-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = inspector.Close() }() // it was in memory
	mux := http.NewServeMux()
	mux.Handle("/jobs/", http.StripPrefix("/jobs", webui.Handler(inspector, webui.Options{
		Authorize: func(r *http.Request) (webui.Role, string, error) {
			if r.Header.Get("X-Staff") != "" {
				return webui.RoleOperator, r.Header.Get("X-Staff"), nil
			}
			return webui.RoleViewer, "", nil
		},
		Redact: func(name string, args json.RawMessage) json.RawMessage { return json.RawMessage(`"not shown"`) },
		Audit:  func(entry webui.AuditEntry) { fmt.Println(entry.Actor, entry.Action, entry.Targets, entry.Outcome) },
		Logger: slog.New(slog.DiscardHandler),
	})))
	for _, staff := range []string{"", "ann"} {
		r := httptest.NewRequest(http.MethodPost, "/jobs/queue-pause?name=mail&force=true", nil)
		r.Header.Set("X-Staff", staff)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	names, _, err := inspector.Paused(context.Background())
	fmt.Println(names, err)
	// Output:
	//  /queue-pause [] refused
	// 403
	// ann /queue-pause [mail] done
	// 303
	// [mail] <nil>
}

// Two people have logins.
func ExampleBasicAuth() {
	staff, err := webui.BasicAuth(
		webui.Login{User: "ann", Password: "a long one", Role: webui.RoleOperator},
		webui.Login{User: "bob", Password: "another one", Role: webui.RoleViewer},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	_, _, err = staff(r)
	fmt.Println(err)
	r.SetBasicAuth("bob", "another one")
	fmt.Println(staff(r))
	// Output:
	// a login is needed
	// viewer bob <nil>
}

// What a dashboard answers can be listed, for a proxy or a test.
func ExampleRoutes() {
	for _, route := range webui.Routes() {
		if route.Menu != "" {
			fmt.Println(route.Method, route.Path, route.Role, route.Group, route.Menu)
		}
	}
	// Output:
	// GET / viewer  Overview
	// GET /queues viewer Work Queues
	// GET /jobs viewer Work Jobs
	// GET /flows viewer Work Flows
	// GET /keys viewer Work Keys
	// GET /schedules viewer Work Schedules
	// GET /errors viewer Watch Errors
	// GET /history viewer Watch History
	// GET /alerts viewer Watch Alerts
	// GET /audit viewer Watch Audit
	// GET /workers viewer Fleet Workers
	// GET /partitions viewer Fleet Partitions
	// GET /nodes viewer Fleet Nodes
	// GET /redis viewer Fleet Redis
}
