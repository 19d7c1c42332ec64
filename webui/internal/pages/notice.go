package pages

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// notice is what became of an action, shown on the page after it. It travels in the URL, so it is signed: nobody can
// make a link under which this site says what it did not do.
type notice struct {
	Text  string    `json:"t"`
	Wrong bool      `json:"w,omitzero"`
	At    time.Time `json:"a"`
}

const (
	noticeLife  = 5 * time.Minute
	noticeBytes = 1 << 10
)

// redirect leads from an action to a page, with a notice.
func (s *Site) redirect(v *visit.Visit, to string, n notice) {
	n.At, n.Text = time.Now().Truncate(time.Second), format.Shorten(n.Text, noticeBytes)
	target, err := url.Parse(to)
	if err != nil {
		target = &url.URL{Path: "./"}
	}
	query := target.Query()
	query.Set("notice", s.sign(n))
	target.RawQuery = query.Encode()
	v.W.Header().Set("Location", target.String()) // not http.Redirect, which would add a path that has lost its prefix
	v.W.WriteHeader(http.StatusSeeOther)
}

func (s *Site) sign(n notice) string {
	text, err := json.Marshal(n)
	if err != nil {
		return "" // it has no values that cannot be written
	}
	encoded := base64.RawURLEncoding.EncodeToString(text)
	return encoded + "." + s.signature(encoded)
}

func (s *Site) signature(text string) string {
	mac := hmac.New(sha256.New, []byte(s.signKey))
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// notice returns what the last action has left, or nil for none and for one that is not ours or old.
func (s *Site) notice(v *visit.Visit) *notice {
	encoded, signature, _ := strings.Cut(v.Query.Get("notice"), ".")
	if encoded == "" || !hmac.Equal([]byte(signature), []byte(s.signature(encoded))) {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	var n notice
	if err != nil || json.Unmarshal(text, &n) != nil || time.Since(n.At) > noticeLife {
		return nil
	}
	return &n
}

// back is the page that the form came from, as it says itself, or the other one where that is none of ours.
func (s *Site) back(v *visit.Visit, other string) string {
	wanted, err := url.Parse(v.Query.Get("back"))
	if err != nil || wanted.IsAbs() || wanted.Host != "" || wanted.Path == "" || strings.Contains(wanted.Path, "/") {
		return other
	}
	for _, route := range s.routes {
		if !route.Acts() && route.Path == "/"+wanted.Path {
			return (&url.URL{Path: wanted.Path, RawQuery: wanted.RawQuery}).String()
		}
	}
	return other
}
