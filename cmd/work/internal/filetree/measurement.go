package filetree

import (
	"errors"
	"io/fs"
	"syscall"
)

// Measurement is what is known of a file once it was read: the result of a measure job.
//
// Lines are newline characters, as `wc -l` counts them. Words are what unicode.IsSpace separates, as bufio.ScanWords
// finds them; bytes that are not UTF-8 belong to words.
type Measurement struct {
	Size   int64  `json:"size"`
	Lines  int64  `json:"lines"`
	Words  int64  `json:"words"`
	SHA256 string `json:"sha256,omitempty"`

	// Problem says why the file could not be read; all else is then zero.
	Problem string `json:"problem,omitempty"`
}

// What a Problem says when a file is not there any more to be read.
const (
	problemGone    = "gone"
	problemReplace = "no longer a regular file"
)

// ProblemOf turns an error of opening or reading into a Problem. A second answer of false means that another attempt
// may go better.
func ProblemOf(err error) (problem string, lasting bool) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return problemGone, true
	case errors.Is(err, errNotRegular), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR):
		return problemReplace, true
	case errors.Is(err, fs.ErrPermission):
		return "permission denied", true
	}
	return reason(err), false
}

var errNotRegular = errors.New("not a regular file")
