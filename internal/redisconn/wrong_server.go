package redisconn

import (
	"errors"
	"strings"

	"github.com/265d0351/work/internal/excerpt"
)

// WrongServerError says that the server which a DSN or a client leads to is not one that can keep what it is given: a
// Sentinel, a replica, or a node of a cluster that does not have the slot. Redis refused the call.
type WrongServerError struct {
	Where    string // "127.0.0.1:26379", or what stands for an address that is not known
	Problem  string // goes on behind Where
	Remedy   string
	MayPass  bool  // a replica may be promoted; for others no waiting helps
	Answered error // what Redis said: a *ServerError, inside of a *DialError where it refused the connection
}

func (e *WrongServerError) Error() string {
	return excerpt.Text(excerpt.Text(e.Where, excerpt.Name)+" "+e.Problem+": "+e.Remedy+" ("+e.Answered.Error()+")",
		excerpt.Whole)
}
func (e *WrongServerError) Unwrap() error { return e.Answered }

// isUnknown tells whether Redis does not know a command, as a Sentinel does not know most.
func isUnknown(err error) bool {
	var refused *ServerError
	return errors.As(err, &refused) && strings.HasPrefix(refused.Message, "ERR unknown command")
}
