package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// bodyOf reads the body, and leaves it to be read again. One that is not UTF-8 is refused: encoding/json makes one text
// of "file-\xe9" and "file-\xe8", and would store the bytes in args, where no answer with them is JSON any more.
func bodyOf(v *visit.Visit) ([]byte, error) {
	body, err := io.ReadAll(v.R.Body)
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, fmt.Errorf("the body has more than %d bytes: %w", tooLong.Limit, tooLong)
	case err != nil:
		return nil, fmt.Errorf("the body cannot be read: %w", err)
	case !utf8.Valid(body):
		return nil, visit.BadRequest(invalid.NotUTF8("the body").Error())
	}
	v.R.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// decode reads the body. A field that is not known is refused: one that is misspelt must not be dropped without a word.
func decode(v *visit.Visit, into any) error {
	body, err := bodyOf(v)
	if err != nil {
		return err
	}
	if err := strictly(body, reflect.TypeOf(into), ""); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	switch err := decoder.Decode(into); {
	case errors.Is(err, io.EOF):
		return visit.BadRequest("the body is empty: send a JSON object")
	case err != nil:
		return badBody(err)
	}
	if _, err := decoder.Token(); err == nil {
		return visit.BadRequest("something follows the JSON of the body: send one object")
	} else if !errors.Is(err, io.EOF) {
		return badBody(err)
	}
	return nil
}

// badBody quotes nothing that may be of the args, since what is refused is logged. Other errors are about other fields:
// args are taken as they are.
func badBody(err error) error {
	var mismatch *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	why := ""
	switch {
	case errors.As(err, &mismatch):
		found, _, _ := strings.Cut(mismatch.Value, " ") // a number itself may follow
		why = fmt.Sprintf("a JSON %s does not fit %s, which takes a %s", found, cmp.Or(mismatch.Field, "it"),
			mismatch.Type)
	case errors.As(err, &syntax):
		why = fmt.Sprintf("it is no JSON, as byte %d shows", syntax.Offset)
	default:
		why = err.Error()
	}
	return visit.BadRequest("the body is not as it should be: " + why)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// strictly refuses what encoding/json takes and reads otherwise than it was written: a member that is there twice, one
// in another case than the documented one, and half of a surrogate pair. Args are json.RawMessage: they are taken as
// they are. What is not JSON, or does not fit, is left to the decoder. at is the path of the value, such as "unique".
func strictly(text []byte, as reflect.Type, at string) error {
	if as.Kind() == reflect.Pointer {
		return strictly(text, as.Elem(), at)
	}
	if reflect.PointerTo(as).Implements(unmarshaler) {
		return nil
	}
	switch as.Kind() {
	case reflect.String:
		if rawjson.HasLone(text) {
			return half("", at)
		}
	case reflect.Slice:
		pieces, _ := rawjson.Split(nil, text)
		for i, piece := range pieces {
			if err := strictly(piece, as.Elem(), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case reflect.Struct, reflect.Map:
		return strictMembers(text, as, at)
	}
	return nil
}

// strictMembers is strictly for an object.
func strictMembers(object []byte, as reflect.Type, at string) error {
	members, err := rawjson.Members(object)
	if err != nil {
		return nil
	}
	end, seen := 0, map[string]bool{}
	for _, m := range members {
		path := strings.TrimPrefix(at+"."+m.Name, ".")
		of, documented := memberOf(as, m.Name)
		switch {
		case rawjson.HasLone(object[end:m.Value]):
			return half("the name of member ", path)
		case of == nil: // the decoder refuses it
		case m.Name != documented:
			return visit.BadRequest(fmt.Sprintf("the body has the member %q: write it as %q", format.Shorten(path, 60),
				documented))
		case seen[m.Name]:
			return visit.BadRequest(fmt.Sprintf("the body has the member %q twice: send it once",
				format.Shorten(path, 60)))
		default:
			if err := strictly(object[m.Value:m.End], of, path); err != nil {
				return err
			}
		}
		seen[m.Name], end = true, m.End
	}
	return nil
}

// memberOf is what a member is read as, and how its name is documented; nil for none.
func memberOf(as reflect.Type, name string) (of reflect.Type, documented string) {
	if as.Kind() == reflect.Map {
		return as.Elem(), name
	}
	for i := range as.NumField() {
		field := as.Field(i)
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); strings.EqualFold(tag, name) {
			return field.Type, tag
		}
	}
	return nil, ""
}

func half(of, path string) error {
	return visit.BadRequest(fmt.Sprintf("%s%q has half of a surrogate pair (an escape such as \\ud800), which is no "+
		"character: send whole characters, or encode it, for example as base64", of, format.Shorten(path, 60)))
}
