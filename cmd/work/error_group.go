package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/265d0351/work"
)

// digestLength is how many digits the digest of a group of errors has.
const digestLength = 32

// wholeGroup is the digest of the group that begins so. A whole one stays as it is: its group may be forgotten, and its
// jobs not.
func wholeGroup(ctx context.Context, i *work.Inspector, begin string) (string, error) {
	if begin == "" || len(begin) == digestLength {
		return begin, nil
	}
	groups, err := i.Errors(ctx, "")
	if err != nil {
		return "", err
	}
	var fit []string
	for _, group := range groups {
		if strings.HasPrefix(group.Digest, begin) {
			fit = append(fit, group.Digest)
		}
	}
	switch len(fit) {
	case 0:
		return "", &unfulfilledError{status: exitNotFound,
			err: fmt.Errorf("no group of errors begins with %s: `work errors` lists them", visible(begin))}
	case 1:
		return fit[0], nil
	}
	return "", usagef("%s groups of errors begin with %s: give more of it", number(len(fit)), visible(begin))
}
