package webui

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/api"
)

// newAPI is a kit that takes jobs, too.
func newAPI(t *testing.T, s redistest.Server, change ...func(*Options)) *kit {
	t.Helper()
	k := newKit(t, s)
	opts := Options{Authorize: byHeader, Audit: k.audit, Logger: slog.New(slog.DiscardHandler), Enqueuer: k.enq}
	for _, c := range change {
		c(&opts)
	}
	k.handler = Handler(k.inspector, opts)
	return k
}

// call sends a request to the API as an operator. Pairs are headers.
func (k *kit) call(method, target, body string, pairs ...string) answer {
	k.t.Helper()
	r := httptest.NewRequest(method, "/api/"+target, bytes.NewBufferString(body))
	r.Header.Set("Role", "operator")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Add(pairs[i], pairs[i+1])
	}
	return k.do(r)
}

// read decodes what the API answers with 200.
func (k *kit) read(target string, into any) {
	k.t.Helper()
	got := k.call(http.MethodGet, target, "")
	require.Equal(k.t, http.StatusOK, got.StatusCode, got.Text)
	got.decode(k.t, into)
}

func (a answer) decode(t *testing.T, into any) {
	t.Helper()
	assert.Contains(t, []string{"application/json", "application/problem+json"}, a.Header.Get("Content-Type"))
	require.NoError(t, json.Unmarshal([]byte(a.Text), into), a.Text)
}

// problem wants an answer to be one.
func (a answer) problem(t *testing.T, status int, says string) api.Problem {
	t.Helper()
	var p api.Problem
	require.Equal(t, status, a.StatusCode, a.Text)
	assert.Equal(t, "application/problem+json", a.Header.Get("Content-Type"))
	a.decode(t, &p)
	assert.Equal(t, "about:blank", p.Type)
	assert.Equal(t, http.StatusText(status), p.Title)
	assert.Equal(t, status, p.Status)
	assert.Contains(t, p.Detail, says)
	assertSecure(t, a)
	return p
}
