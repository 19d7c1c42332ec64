package apitest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/webui"
	"github.com/265d0351/work/webui/alerts"
)

// description is what the API says of itself.
type description struct {
	text     []byte
	doc      map[string]any
	compiler *jsonschema.Compiler
}

const location = "https://work.test/openapi.json" // names it, nothing is there

// describe asks a handler for it.
func describe(t *testing.T, handler http.Handler) *description {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/openapi.json", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	d := &description{text: w.Body.Bytes(), compiler: jsonschema.NewCompiler()}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.text))
	require.NoError(t, err)
	d.doc = parsed.(map[string]any)
	refuseOthers(d.doc)
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	require.NoError(t, d.compiler.AddResource(location, d.doc))
	return d
}

// refuseOthers makes every schema with properties refuse others, so that what is not described fails.
func refuseOthers(value any) {
	switch value := value.(type) {
	case map[string]any:
		if _, is := value["properties"].(map[string]any); is && value["type"] == "object" {
			value["additionalProperties"] = false
		}
		for _, part := range value {
			refuseOthers(part)
		}
	case []any:
		for _, part := range value {
			refuseOthers(part)
		}
	}
}

// at is the part of the description at a path of keys, nil where there is none.
func (d *description) at(keys ...string) any {
	var value any = d.doc
	for _, key := range keys {
		object, is := value.(map[string]any)
		if !is {
			return nil
		}
		value = object[key]
	}
	if object, is := value.(map[string]any); is {
		if ref, is := object["$ref"].(string); is {
			return d.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		}
	}
	return value
}

// schema compiles the schema at a path of keys.
func (d *description) schema(t *testing.T, keys ...string) *jsonschema.Schema {
	t.Helper()
	var pointer strings.Builder
	for _, key := range keys {
		pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	schema, err := d.compiler.Compile(location + "#" + pointer.String())
	require.NoError(t, err)
	return schema
}

func TestTheDescriptionIsOpenAPI(t *testing.T) {
	t.Parallel()
	k := newKit(t, embedded(t))
	doc, err := openapi3.NewLoader().LoadFromData(describe(t, k.handler).text)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	assert.True(t, doc.IsOpenAPI31OrLater())
}

func TestEachRouteIsDescribedAndTheReverse(t *testing.T) {
	t.Parallel()
	k := newKit(t, embedded(t))
	d := describe(t, k.handler)
	var described, served []string
	for path, item := range d.at("paths").(map[string]any) {
		for method := range item.(map[string]any) {
			described = append(described, strings.ToUpper(method)+" /api"+path)
		}
	}
	for _, route := range webui.Routes() {
		if strings.HasPrefix(route.Path, "/api/") {
			served = append(served, route.Method+" "+route.Path)
		}
	}
	assert.ElementsMatch(t, served, described)
	ids := map[any]bool{}
	for _, route := range served {
		method, path, _ := strings.Cut(route, " /api")
		operation := d.at("paths", path, strings.ToLower(method)).(map[string]any)
		assert.False(t, ids[operation["operationId"]], "%s has the operationId of another", route)
		ids[operation["operationId"]] = true
		assert.NotEmpty(t, operation["summary"], route)
	}
}

// What is seldom there is described as well: the fields are compared, not only those that a run has met.
func TestTheFieldsOfTheLibraryAreDescribed(t *testing.T) {
	t.Parallel()
	k := newKit(t, embedded(t))
	d := describe(t, k.handler)
	for name, row := range map[string]struct {
		of   any
		more []string // by its own MarshalJSON, or by the API
	}{
		"Counts": {of: inspect.Counts{}}, "Queue": {of: inspect.QueueInfo{}},
		"LimitInfo": {of: inspect.LimitInfo{}, more: []string{"problem"}},
		"KeyInfo":   {of: inspect.KeyInfo{}}, "Keys": {of: inspect.KeyPage{}},
		"Job": {of: inspect.JobInfo{}}, "Checkin": {of: inspect.JobCheckin{}},
		"Attempt":    {of: inspect.Attempt{}},
		"JobError":   {of: inspect.JobError{}},
		"WaitReason": {of: inspect.WaitReason{}},
		"ErrorGroup": {of: inspect.ErrorGroup{}}, "RunningJob": {of: inspect.RunningJob{}},
		"Worker": {of: inspect.WorkerInfo{}},
		"Alert":  {of: alerts.Alert{}}, "Incident": {of: inspect.Incident{}}, "Silence": {of: inspect.Silence{}},
		"AuditEntry": {of: inspect.AuditEntry{}}, "AuditPage": {of: inspect.AuditPage{}},
		"HistoryPoint": {of: inspect.HistoryPoint{}}, "Histogram": {of: inspect.Histogram{}},
		"Server":   {of: inspect.ServerInfo{}, more: []string{"topology"}},
		"Topology": {of: inspect.Topology{}}, "NodeInfo": {of: inspect.NodeInfo{}},
		"Finding": {of: doctor.Finding{}}, "Diagnosis": {of: doctor.Diagnosis{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var described []string
			for property := range d.at("components", "schemas", name, "properties").(map[string]any) {
				described = append(described, property)
			}
			assert.ElementsMatch(t, append(fields(reflect.TypeOf(row.of)), row.more...), described)
		})
	}
}

func fields(of reflect.Type) (names []string) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// check compares a request and its answer with what is described, and says which operation it was.
func (d *description) check(t *testing.T, r *http.Request, sent string, w *http.Response, body []byte) {
	t.Helper()
	path, method := strings.TrimPrefix(r.URL.Path, "/api"), strings.ToLower(r.Method)
	where := []string{"paths", path, method}
	operation, is := d.at(where...).(map[string]any)
	require.True(t, is, "%s %s is not described", method, path)
	if w.StatusCode < 300 { // what is refused need not be as it is described
		d.checkQuery(t, r, operation)
		if d.at(append(where, "requestBody", "content", "application/json", "schema")...) != nil {
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(sent))
			require.NoError(t, err)
			assert.NoError(t, d.schema(t, append(where, "requestBody", "content", "application/json", "schema")...).
				Validate(value), sent)
		}
	}
	status := fmt.Sprint(w.StatusCode)
	answer := append(where, "responses", status)
	if d.at(answer...) == nil {
		require.GreaterOrEqual(t, w.StatusCode, 400, "%s %s answered %d, which is not described", method, path,
			w.StatusCode)
		answer = []string{"components", "responses", "problem"}
		require.Equal(t, map[string]any{"$ref": "#/components/responses/problem"},
			operation["responses"].(map[string]any)["default"])
	}
	kind := w.Header.Get("Content-Type")
	require.NotNil(t, d.at(append(answer, "content", kind)...), "%s %s answered %s, which is not described", method,
		path, kind)
	schema := d.schema(t, append(answer, "content", kind, "schema")...)
	values := [][]byte{body}
	if kind == "application/x-ndjson" {
		values = bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
	}
	for _, text := range values {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		assert.NoError(t, schema.Validate(value), "%s %s answered %s", method, path, text)
	}
}

// checkQuery wants each key of a query to be described, its value to fit, and none to be missing.
func (d *description) checkQuery(t *testing.T, r *http.Request, operation map[string]any) {
	t.Helper()
	var known []string
	parameters, _ := operation["parameters"].([]any)
	for _, parameter := range parameters {
		p := parameter.(map[string]any)
		if ref, is := p["$ref"].(string); is {
			p = d.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
		}
		name := p["name"].(string)
		if p["in"] != "query" {
			continue
		}
		known = append(known, name)
		if p["required"] == true {
			assert.NotEmpty(t, r.URL.Query().Get(name), "%s needs ?%s=", r.URL.Path, name)
		}
	}
	for key := range r.URL.Query() {
		assert.True(t, slices.Contains(known, key), "?%s= of %s is not described", key, r.URL.Path)
	}
}
