package rdb

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	sendScript       = redisconn.Load("job/send")
	removeMailScript = redisconn.Load("repair/remove_mail")
)

// The bounds of a mailbox.
const (
	MaxMessages     = 100
	MaxMailboxBytes = 256 << 10
)

// Letter is a message to a job.
type Letter struct {
	ID, Name string
	JSON     []byte
	Lane     string
	Number   int64 // of the call in its lane: another one once a call was answered by SendDone, or may have counted
}

// SendAnswer is what came of a message.
type SendAnswer string

// The answers. The zero value is none.
const (
	SendDone SendAnswer = "sent"
	SendGone SendAnswer = "gone" // there is no such job in this partition
	SendFull SendAnswer = "full" // its mailbox is
)

// Send puts a message into the mailbox of a job that is in this partition.
func (s *Store) Send(ctx context.Context, letter Letter) (SendAnswer, error) {
	k := s.keys
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: sendScript,
		Keys: []string{k.lanes, k.jobs, k.mail(letter.ID), k.mailed, k.steps(letter.ID), k.scheduled, k.claimed,
			k.control},
		Args: []any{letter.Lane, letter.Number, letter.ID, letter.Name, letter.JSON, MaxMessages, MaxMailboxBytes,
			millis(longJobMemory)}})
	if err != nil {
		return "", err
	}
	answer := Word(value)
	if before, sent, _ := strings.Cut(answer, " "); before != "" && sent == string(SendDone) {
		return SendDone, nil
	}
	switch SendAnswer(answer) {
	case SendGone, SendFull:
		return SendAnswer(answer), nil
	}
	return "", &redisconn.UnexpectedReplyError{Script: sendScript.Name, Reply: value}
}

// StoredMessage is one that nobody has asked for yet.
type StoredMessage struct {
	Name string
	Sent time.Time
	JSON []byte
}

// StepsAndMail returns the steps of a job with that record, by name, and its messages, oldest first.
func (s *Store) StepsAndMail(ctx context.Context, id, digest string) (map[string]string, []StoredMessage, error) {
	values, err := s.values(ctx, 2, []redisconn.Call{{Command: "HGETALL", Args: []any{s.keys.steps(id)}},
		{Command: "LRANGE", Args: []any{s.keys.mail(id), 0, -1}}})
	if err != nil {
		return nil, nil, err
	}
	steps, err := stepsIn(values[0], digest)
	if err != nil {
		return nil, nil, err
	}
	r := redisconn.NewReader("LRANGE", values[1], nil)
	var messages []StoredMessage
	for i, element := range r.TextsOf(values[1]) {
		if of, _, _ := strings.Cut(element, " "); i == 0 && of != digest {
			break
		}
		if i > 0 {
			message, err := parseMessage(element)
			if err != nil {
				return nil, nil, fmt.Errorf("mailbox of job %s: %w", id, err)
			}
			messages = append(messages, message)
		}
	}
	return steps, messages, r.Err()
}

// parseMessage reads "<ms> <name> NUL <JSON>".
func parseMessage(element string) (StoredMessage, error) {
	head, text, found := strings.Cut(element, "\x00")
	sent, name, _ := strings.Cut(head, " ")
	at, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || !found {
		return StoredMessage{}, fmt.Errorf("%.40q is not a message", element)
	}
	return StoredMessage{Name: name, Sent: time.UnixMilli(at), JSON: []byte(text)}, nil
}

// mailSettled is how old a message must be at the least for its mailbox to be removed as that of no job: a job that is
// moved to another partition comes there after its mailbox.
const mailSettled = time.Hour

// RemoveJoblessMail removes mailboxes of jobs that have ended: those that were never asked for go so. It reads a part
// of those that there are, beginning at that cursor ("" or "0" the first time), and returns where the next call begins:
// "0" after the last part, and the same cursor with an error.
func (s *Store) RemoveJoblessMail(ctx context.Context, cursor string) (next string, removed int, err error) {
	if cursor == "" {
		cursor = "0"
	}
	value, err := redisconn.Do(ctx, s.driver,
		redisconn.Call{Command: "HSCAN", Args: []any{s.keys.mailed, cursor, "COUNT", MaxBatch}})
	if err != nil {
		return cursor, 0, err
	}
	next, page, _, err := parseFields("HSCAN", value)
	if err != nil {
		return cursor, 0, err
	}
	for len(page) > 0 {
		part := page[:min(len(page), MaxBatch)]
		page = page[len(part):]
		keys, args := []string{s.keys.mailed, s.keys.jobs}, []any{millis(mailSettled)}
		for _, field := range part {
			keys, args = append(keys, s.keys.mail(field.Name)), append(args, field.Name)
		}
		value, err := redisconn.Do(ctx, s.driver,
			redisconn.Call{Script: removeMailScript, Keys: keys, Args: args})
		if err != nil {
			return cursor, removed, err
		}
		n, _ := value.(int64)
		removed += int(n)
	}
	return next, removed, nil
}

// Mailed tells which of the jobs may have a mailbox.
func (s *Store) Mailed(ctx context.Context, ids []string) (map[string]bool, error) {
	texts, err := s.fieldsOf(ctx, s.keys.mailed, ids)
	if err != nil {
		return nil, err
	}
	mailed := map[string]bool{}
	for i, text := range texts {
		mailed[ids[i]] = text != nil
	}
	return mailed, nil
}
