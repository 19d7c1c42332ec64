package worqr

import (
	"encoding/json"
	"unicode/utf8"
)

// doneMessage is what is published when a task was finished. The released program knows the first three fields; bytes
// that are no text would not survive as a JSON string, so they are in the other two as well.
type doneMessage struct {
	Worker    string  `json:"workerId"`
	Task      string  `json:"task"`
	Result    *string `json:"result,omitempty"`
	TaskRaw   []byte  `json:"taskBase64,omitempty"`
	ResultRaw []byte  `json:"resultBase64,omitempty"`
}

func encodeDone(worker string, task, result []byte) []byte {
	m := doneMessage{Worker: worker, Task: string(task)}
	if !utf8.Valid(task) {
		m.TaskRaw = task
	}
	if result != nil {
		text := string(result)
		m.Result = &text
	}
	if !utf8.Valid(result) {
		m.ResultRaw = result
	}
	message, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and bytes
	}
	return message
}

// decodeDone reads what anybody published. What it cannot read is a task without a worker.
func decodeDone(queue string, message []byte) Done {
	var m doneMessage
	if json.Unmarshal(message, &m) != nil {
		return Done{Queue: queue, Task: message}
	}
	d := Done{Queue: queue, Worker: m.Worker, Task: []byte(m.Task), Result: m.ResultRaw}
	if m.TaskRaw != nil {
		d.Task = m.TaskRaw
	}
	if d.Result == nil && m.Result != nil {
		d.Result = []byte(*m.Result)
	}
	return d
}
