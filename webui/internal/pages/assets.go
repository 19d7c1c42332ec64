package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"regexp"
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

// kinds are the types of what is sent, by the ends of names.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

var assets = loadAssets()

// loadAssets reads all files. It panics where one cannot be read, which any test would find.
func loadAssets() map[string]asset {
	files, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err)
	}
	loaded := make(map[string]asset, len(files))
	scripts := sha256.New()
	for _, file := range files {
		content, err := assetFiles.ReadFile("assets/" + file.Name())
		if err != nil {
			panic(err)
		}
		a := asset{kind: kinds[path.Ext(file.Name())], content: content, tag: tagOf(sha256.Sum256(content))}
		if path.Ext(file.Name()) == ".js" {
			scripts.Write(content)
		}
		loaded[file.Name()] = a
	}
	tag := tagOf([sha256.Size]byte(scripts.Sum(nil)))
	for name, a := range loaded {
		if path.Ext(name) == ".js" {
			a.tag, a.content = tag, imported.ReplaceAll(a.content, []byte(`from "./$1?`+tag+`"`))
			loaded[name] = a
		}
	}
	return loaded
}

// imported is what a script says of another one. All scripts have one tag, which is added to it: without it a browser
// would ask for each of them with every page.
var imported = regexp.MustCompile(`from "\./([a-z_]+\.js)"`)

func tagOf(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:6]) }

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
