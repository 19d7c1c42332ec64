package worqr

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// doneMessage is what is published when a task was finished. The released program knows the first three fields, and its
// result may be JSON of any kind. Bytes that are no text would not survive as a JSON string, so they are in the other
// two as well.
type doneMessage struct {
	Worker    string          `json:"workerId"`
	Task      string          `json:"task"`
	Result    json.RawMessage `json:"result,omitempty"`
	TaskRaw   []byte          `json:"taskBase64,omitempty"`
	ResultRaw []byte          `json:"resultBase64,omitempty"`
}

// doneBytes is the message for a result of bytes, or nil for none.
func doneBytes(worker string, task, result []byte) []byte {
	m := doneMessage{}
	if result != nil {
		m.Result = encoded(string(result))
	}
	if !utf8.Valid(result) {
		m.ResultRaw = result
	}
	return m.encode(worker, task)
}

func (m doneMessage) encode(worker string, task []byte) []byte {
	m.Worker, m.Task = worker, string(task)
	if !utf8.Valid(task) {
		m.TaskRaw = task
	}
	return encoded(m)
}

func encoded(value any) []byte {
	message, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings, bytes, and JSON that was checked
	}
	return message
}

// decodeDone reads what anybody published. What it cannot read is a task without a worker.
func decodeDone(queue string, message []byte) Done {
	var m doneMessage
	if json.Unmarshal(message, &m) != nil {
		return Done{Queue: queue, Task: message}
	}
	d := Done{Queue: queue, Worker: m.Worker, Task: []byte(m.Task), Result: m.Result, raw: m.ResultRaw}
	if m.TaskRaw != nil {
		d.Task = m.TaskRaw
	}
	if bytes.Equal(d.Result, []byte("null")) {
		d.Result = nil
	}
	return d
}

// Text is a result that is a string, as FinishTask was given it, even if its bytes are no text. ok is false without a
// result and for one of another kind.
func (d Done) Text() (result []byte, ok bool) {
	if d.raw != nil {
		return d.raw, true
	}
	var text string
	if len(d.Result) == 0 || d.Result[0] != '"' || json.Unmarshal(d.Result, &text) != nil {
		return nil, false
	}
	return []byte(text), true
}
