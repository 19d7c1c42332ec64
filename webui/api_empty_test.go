package webui

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// What a query leaves out is any. So a key without a value, which a program sends when its variable is not set, is
// refused by every route of the API, and so is a query that cannot be read to its end.
func TestAnEmptyKeyOfAQueryIsRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		k.schedule("later", "mail")
		for _, route := range Routes() {
			target, of := strings.CutPrefix(route.Path, "/api/")
			if !of {
				continue
			}
			for query, says := range map[string]string{
				"name=": "?name= is empty", "name=%20": "?name= is empty", "cursor=&limit=1": "?cursor= is empty",
				"name=a&name=": "?name= is empty", "name=100%": "the query cannot be read",
			} {
				t.Run(route.Method+" "+target+"?"+query, func(t *testing.T) {
					k.call(route.Method, target+"?"+query+"&all=1&sure=1&state=scheduled&action=delete&id=later", "{}").
						problem(t, http.StatusBadRequest, says)
				})
			}
		}
		assert.Equal(t, work.StateScheduled, k.state("later"), "nothing was done")
	})
}

// An action on all jobs that match does nothing where a part of its filter stands for any, by the API and by a form.
func TestABulkWhoseFilterSelectsAllIsRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		k.schedule("later", "mail")
		k.enqueue("now", "mail")
		for query, says := range map[string]string{
			"": "state, or say", "&name=": "is empty", "&state=scheduled&tag=": "is empty",
			"&state=scheduled&older=+": "is empty", "&state=+": "is empty", "&state=": "is empty",
			"&state=scheduled&older=0s": "longer time", "&state=scheduled&older=0": "longer time",
			"&state=scheduled&source=0": "another number", "&state=scheduled&name=100%": "cannot be read",
		} {
			t.Run(query, func(t *testing.T) {
				k.call(http.MethodPost, "bulk?action=delete&sure=1"+query, "").problem(t, http.StatusBadRequest, says)
				page := k.post("bulk?action=delete&sure=1" + query)
				assert.Equal(t, http.StatusBadRequest, page.StatusCode)
				assert.Contains(t, page.Text, says)
			})
		}
		assert.Equal(t, http.StatusBadRequest, k.post("errors-clear?name=&all=1").StatusCode)
		assert.Equal(t, work.StateScheduled, k.state("later"))
		assert.Equal(t, work.StateQueued, k.state("now"))
	})
}

// A field of a body that was given and is empty is not taken for one that was left out.
func TestAnEmptyFieldOfABodyIsRefused(t *testing.T) {
	t.Parallel()
	k := newAPI(t, redistest.Embedded(t))
	for _, row := range []struct{ target, field string }{
		{"schedules", `"id":""`}, {"schedules", `"tz":""`}, {"schedules", `"key":""`}, {"schedules", `"needs":[""]`},
		{"jobs", `"id":""`}, {"jobs", `"key":""`}, {"jobs", `"needs":[""]`}, {"jobs", `"unique":{"key":""}`}, {"jobs", `"tags":[""]`},
	} {
		t.Run(row.target+" "+row.field, func(t *testing.T) {
			k.call(http.MethodPost, row.target+"?force=true", `{"spec":"@every 1h","name":"report",`+row.field+`}`).
				problem(t, http.StatusBadRequest, "")
		})
	}
}
