package webui

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// keyed stores so many jobs of a key.
func (k *kit) keyed(name, key string, n int) {
	k.t.Helper()
	for range n {
		_, err := k.enq.With(work.Key(key)).Enqueue(k.ctx(), name)
		require.NoError(k.t, err)
	}
}

// keys are those of a queue.
func (k *kit) keys(name string) []inspect.KeyInfo {
	k.t.Helper()
	page, err := k.inspector.Keys(k.ctx(), inspect.KeysOptions{Name: name})
	require.NoError(k.t, err)
	return page.Keys
}

func TestAKeyIsStoppedOnItsPage(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		for _, key := range []string{"ann & bob", `<img src=x>"'`} {
			k.keyed("mail", key, 1)
		}
		page := k.get("keys?name=mail")
		assertHarmless(t, page)
		stop := form(t, page, "key-stop")
		assert.Equal(t, http.StatusSeeOther, k.post(stop).StatusCode)
		page = k.get("keys?name=mail")
		assert.Contains(t, page.Text, "its key is stopped")
		assert.Contains(t, page.Text, "Limit…")
		k.post(form(t, page, "key-unlimit"))
		assert.NotContains(t, k.get("keys?name=mail").Text, "its key is stopped")
		assert.NotContains(t, k.do(request(http.MethodGet, "/keys?name=mail", "viewer", nil)).Text, "key-stop")
		assert.Equal(t, http.StatusBadRequest, k.post(form(t, page, "key-limit"), "concurrent", "").StatusCode)
		assert.Equal(t, http.StatusBadRequest, k.post("key-stop?name=mail").StatusCode)
	})
}

func TestThePageOfAQueueShowsItsNoisiestKeys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueue("a", "mail")
		assert.NotContains(t, k.get("queue?name=mail").Text, "<h2>Keys</h2>")
		for n := range 60 {
			k.keyed("mail", fmt.Sprintf("customer-%02d", n), 1)
		}
		k.keyed("mail", "customer-77", 4)
		queue := k.get("queue?name=mail")
		assert.Contains(t, queue.Text, "customer-77")
		assert.Contains(t, targets(hrefs, queue.Text), "keys?name=mail")

		page := k.get("keys?name=mail")
		assert.Regexp(t, `(?s)<tbody>\s*<tr>\s*<td data-label="Key" class="name">customer-77</td>\s*<td[^>]*>4</td>`,
			page.Text)
		assert.Contains(t, page.Text, "<b>61</b><span>keys in line</span>")
		assert.Contains(t, page.Text, "<b>1</b><span>waits without a key</span>")
		assert.NotContains(t, page.Text, "Back to the beginning")
		var next string
		for _, target := range targets(hrefs, page.Text) {
			if strings.HasPrefix(target, "keys?") && strings.Contains(target, "cursor=") {
				next = target
			}
		}
		require.NotEmpty(t, next)
		rest := k.get(next)
		assert.Contains(t, rest.Text, "Back to the beginning")
		assert.NotContains(t, rest.Text, "customer-77")
		assert.NotContains(t, rest.Text, "Next page")
		assert.Equal(t, http.StatusBadRequest, k.get("keys?name=mail&cursor=x").StatusCode)

		k.enqueue("b", "plain")
		keyed := k.get("keys")
		assert.Equal(t, http.StatusOK, keyed.StatusCode)
		assert.Contains(t, targets(hrefs, keyed.Text), "keys?name=mail", "without a queue it says which have keys")
		assert.NotContains(t, keyed.Text, "name=plain")

		var read inspect.KeyPage
		k.read("keys?name=mail&limit=1", &read)
		require.Len(t, read.Keys, 1)
		assert.Equal(t, "customer-77", read.Keys[0].Key)
		assert.NotEmpty(t, read.Next)
	})
}
