package unique

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/unquoted"
)

// MaxKey is how many bytes a key may have.
const MaxKey = 200

// Kind is what jobs have in common that count as the same.
type Kind struct {
	Name string // of the jobs; empty for a key that is of no job, but of a request
	Key  string // if there is one the args do not count
	Of   string // on whose behalf they are done, if that is known
	Args []int  // positions of the args that count, the first is 0; none is all of them
	// names of the members that count, of each arg which is such an object; where there are any, nothing else counts
	Fields [][]string
}

// Digest is equal for jobs of the same kind, and for no others. args is the JSON array of all args.
func (k Kind) Digest(args []byte) (string, error) {
	var text []byte
	add := func(part []byte) { // with its length in front, so that no two lists of parts make the same text
		text = append(append(append(text, strconv.Itoa(len(part))...), ':'), part...)
	}
	add([]byte(k.Name))
	if k.Of != "" {
		add([]byte("of"))
		add([]byte(k.Of))
	}
	if k.Key != "" {
		add([]byte("key"))
		add([]byte(k.Key))
	} else if err := k.addArgs(args, add); err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

func (k Kind) addArgs(args []byte, add func(part []byte)) error {
	list, err := decodeList(args)
	if err != nil {
		return err
	}
	if err := k.Fits(len(list)); err != nil {
		return err
	}
	if k.Fields != nil {
		k.addFields(list, add)
		return nil
	}
	add([]byte("args"))
	for i, arg := range list {
		if len(k.Args) > 0 && !slices.Contains(k.Args, i) {
			continue
		}
		add([]byte(strconv.Itoa(i)))
		add(canonical(arg))
	}
	return nil
}

// addFields adds the members that count, in the order of their names. One that is missing differs from all
// values, and what is no object counts as a whole.
func (k Kind) addFields(list []any, add func(part []byte)) {
	add([]byte("fields"))
	for i, arg := range list {
		if i >= len(k.Fields) || len(k.Fields[i]) == 0 {
			continue
		}
		add([]byte(strconv.Itoa(i)))
		object, ok := arg.(map[string]any)
		if !ok {
			add(canonical(arg))
			continue
		}
		for _, name := range k.Fields[i] {
			add([]byte(name))
			if value, there := object[name]; there {
				add(canonical(value))
			} else {
				add(nil)
			}
		}
	}
}

// Fits refuses positions that jobs with so many args do not have.
func (k Kind) Fits(args int) error {
	if len(k.Args) == 0 || slices.Max(k.Args) < args {
		return nil
	}
	return &invalid.Error{What: "UniqueOptions.Args", Value: fmt.Sprint(k.Args),
		Remedy: fmt.Sprintf("job %s has %d args: use positions below that", excerpt.Brief(k.Name), args)}
}

// FitsArgs is Fits for args of these types.
func (k Kind) FitsArgs(args Args) error {
	if args.more {
		return nil
	}
	return k.Fits(len(args.types))
}

func decodeList(args []byte) (list []any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(rawjson.Distinct(args)))
	decoder.UseNumber() // large integers stay what they are
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("the args cannot be compared: %w", unquoted.Error(err))
	}
	return list, nil
}

// canonical is the same JSON for the same value: members in order, no spaces.
func canonical(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil { // it was decoded from JSON: cannot happen
		return nil
	}
	return encoded
}
