// Package people is who may come into a dashboard that `work ui` serves: a file with names, roles and bcrypt hashes of
// passwords, which is read again when it changes. It decides nothing else.
package people

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/265d0351/work/webui"
)

// Bounds of the file, and of what a password may cost: one below could be guessed by who gets the file, one above would
// let anybody keep a processor busy.
const (
	maxFile   = 1 << 20
	maxPeople = 10_000
	minCost   = 10
	maxCost   = 14
	newCost   = 12
)

// person is a line of the file.
type person struct {
	role webui.Role
	hash []byte // nil of one who comes in by a proxy only
}

// list is the file as it was read last.
type list struct {
	people map[string]person
	decoy  []byte // a hash that costs as much as the dearest: who is not there takes as long as who is
	size   int64
	at     time.Time // when the file was changed
}

// read reads a file of lines "name:role:hash". Empty ones and those that begin with # do not count.
func read(path string) (*list, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //lint:ignore errcheck it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s has more than %d bytes: that is no file of users", path, maxFile)
	}
	l := &list{people: map[string]person{}, size: info.Size(), at: info.ModTime()}
	if err := l.parse(text); err != nil {
		return nil, fmt.Errorf("%s, %w", path, err)
	}
	return l, nil
}

func (l *list) parse(text []byte) error {
	dearest, number := minCost, 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		number++
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, one, cost, err := parseLine(line)
		if err == nil && l.people[name].role != webui.RoleNone {
			err = fmt.Errorf("user %q is there twice: leave one out", name)
		}
		if err == nil && len(l.people) == maxPeople {
			err = fmt.Errorf("there are more than %d users", maxPeople)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		l.people[name] = one
		dearest = max(dearest, cost)
	}
	if len(l.people) == 0 {
		return errors.New("nobody is in it: add a line that `work ui user NAME` prints")
	}
	var err error
	l.decoy, err = bcrypt.GenerateFromPassword([]byte("nobody"), dearest)
	return err
}

func parseLine(line string) (name string, one person, cost int, err error) {
	name, rest, _ := strings.Cut(line, ":")
	role, hash, found := strings.Cut(rest, ":")
	if one.role = roles[role]; one.role == webui.RoleNone || name == "" || !found {
		return "", one, 0, errors.New("it is not as name:viewer:hash or name:operator:hash, which `work ui user " +
			"NAME` prints")
	}
	if hash == "" {
		return name, one, 0, nil
	}
	one.hash = []byte(hash)
	cost, err = bcrypt.Cost(one.hash)
	switch {
	case err != nil:
		return "", one, 0, fmt.Errorf("the hash of user %q is none of bcrypt: use what `work ui user` prints", name)
	case cost < minCost || cost > maxCost:
		return "", one, 0, fmt.Errorf("the hash of user %q has cost %d: use one of %d to %d", name, cost, minCost,
			maxCost)
	}
	return name, one, cost, nil
}

var roles = map[string]webui.Role{"viewer": webui.RoleViewer, "operator": webui.RoleOperator}

// Line makes a line of the file. Bcrypt looks at 72 bytes of a password, so that a longer one is refused.
func Line(name, role, password string) (string, error) {
	switch {
	case name == "" || strings.ContainsAny(name, ":\r\n\x00") || strings.HasPrefix(name, "#") ||
		strings.TrimSpace(name) != name:
		return "", fmt.Errorf("the user %q cannot be: give a name without a colon, # in front and blanks around it",
			name)
	case roles[role] == webui.RoleNone:
		return "", fmt.Errorf("the role %q is none: give viewer or operator", role)
	case len(password) < 8:
		return "", errors.New("a password of fewer than 8 bytes can be guessed: give a longer one")
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), newCost)
	if errors.Is(err, bcrypt.ErrPasswordTooLong) {
		return "", errors.New("a password has at most 72 bytes: give a shorter one")
	}
	return name + ":" + role + ":" + string(hash), err
}
