package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/unquoted"
)

// mark is how an envelope begins, and no args do: these are an array. Any other value that begins so is put into an
// envelope without layers, so that what was in a value is never taken for one.
const mark = `{"$codec":[`

// Layer is what one codec has done to a value.
type Layer struct {
	Codec string // its name
	Key   string // with which; "" for a codec that has none
}

// Info is what anybody can read of an encoded value.
type Info struct {
	Layers []Layer // the one that was applied last comes last; none for a value that is only packed
	Bytes  int     // how many are stored, before base64
}

// Key is the key with which the value was sealed; "" where none was.
func (i Info) Key() string {
	for n := len(i.Layers) - 1; n >= 0; n-- {
		if key := i.Layers[n].Key; key != "" {
			return key
		}
	}
	return ""
}

// String is what is shown in the place of the value: "sealed with key k2, 312 bytes".
func (i Info) String() string {
	if key := i.Key(); key != "" {
		return fmt.Sprintf("sealed with key %s, %d bytes", key, i.Bytes)
	}
	names := make([]string, len(i.Layers))
	for n, layer := range i.Layers {
		names[n] = layer.Codec
	}
	return fmt.Sprintf("encoded by %s, %d bytes", strings.Join(names, ", "), i.Bytes)
}

// Is tells whether a JSON value is in an envelope.
func Is(value []byte) bool {
	return bytes.HasPrefix(value, []byte(mark)) ||
		bytes.HasPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte(mark)) // by hand
}

// InfoOf reads what is written on an envelope. It is false for a value in none, for one that is broken, and for one
// that anybody can open.
func InfoOf(value []byte) (Info, bool) {
	if !Is(value) {
		return Info{}, false
	}
	layers, data, err := take(value)
	if err != nil || len(layers) == 0 {
		return Info{}, false
	}
	return Info{Layers: layers, Bytes: len(data)}, true
}

// put makes an envelope.
func put(layers []Layer, data []byte) []byte {
	dst := make([]byte, 0, len(mark)+64+base64.StdEncoding.EncodedLen(len(data)))
	dst = append(dst, mark...)
	for i, layer := range layers {
		if i > 0 {
			dst = append(dst, ',')
		}
		text := layer.Codec
		if layer.Key != "" {
			text += ":" + layer.Key // no name of a codec has a colon
		}
		dst = rawjson.AppendString(dst, text)
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, `],"data":"`...), data)
	return append(dst, `"}`...)
}

// take opens an envelope. Its errors quote nothing of what is inside.
func take(value []byte) (layers []Layer, data []byte, err error) {
	var read struct {
		Codec []string `json:"$codec"`
		Data  []byte   `json:"data"`
	}
	if err := json.Unmarshal(value, &read); err != nil {
		return nil, nil, unquoted.Error(err)
	}
	for _, text := range read.Codec {
		name, key, _ := strings.Cut(text, ":")
		layers = append(layers, Layer{Codec: name, Key: key})
	}
	return layers, read.Data, nil
}
