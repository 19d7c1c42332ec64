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
	"github.com/265d0351/work/internal/unquoted"
)

// MaxKey is how many bytes a key may have.
const MaxKey = 200

// Kind is what jobs have in common that count as the same.
type Kind struct {
	Name string // of the jobs; empty for a key that is of no job, but of a request
	Key  string // if there is one the args do not count
	Args []int  // positions of the args that count, the first is 0; none is all of them
}

// Digest is equal for jobs of the same kind, and for no others. args is the JSON array of all args.
func (k Kind) Digest(args []byte) (string, error) {
	var text []byte
	add := func(part []byte) { // with its length in front, so that no two lists of parts make the same text
		text = append(append(append(text, strconv.Itoa(len(part))...), ':'), part...)
	}
	add([]byte(k.Name))
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

// Fits refuses positions that jobs with so many args do not have.
func (k Kind) Fits(args int) error {
	if len(k.Args) == 0 || slices.Max(k.Args) < args {
		return nil
	}
	return &invalid.Error{What: "UniqueOptions.Args", Value: fmt.Sprint(k.Args),
		Remedy: fmt.Sprintf("job %s has %d args: use positions below that", excerpt.Brief(k.Name), args)}
}

func decodeList(args []byte) (list []any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(args))
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
