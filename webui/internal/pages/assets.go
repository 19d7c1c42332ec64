package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/265d0351/work/webui/internal/visit"
)

//go:embed assets
var assetFiles embed.FS

// asset is a file that pages ask for. Its tag changes with it, so that a browser never uses an old one with a new page.
type asset struct {
	kind    string
	content []byte
	tag     string
}

var assets = loadAssets(map[string]string{
	"style.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
})

func loadAssets(kinds map[string]string) map[string]asset {
	loaded := make(map[string]asset, len(kinds))
	for name, kind := range kinds {
		content, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			continue // a test misses it
		}
		sum := sha256.Sum256(content)
		loaded[name] = asset{kind: kind, content: content, tag: hex.EncodeToString(sum[:6])}
	}
	return loaded
}

// AssetURL is relative to any page.
func AssetURL(name string) string { return "assets/" + name + "?" + assets[name].tag }

func (s *Site) showAsset(v *visit.Visit) error {
	file, ok := assets[v.R.PathValue("file")]
	if !ok {
		return visit.ErrNoPage
	}
	header := v.W.Header()
	header.Set("Content-Type", file.kind)
	header.Set("Cache-Control", "private, no-cache")
	if v.R.URL.RawQuery == file.tag {
		header.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	header.Set("ETag", `"`+file.tag+`"`)
	http.ServeContent(v.W, v.R, "", time.Time{}, bytes.NewReader(file.content))
	return nil
}
