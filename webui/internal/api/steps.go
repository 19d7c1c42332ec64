package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/265d0351/work/webui/internal/visit"
)

// readSteps tells how far a job came. Values and messages are for those who may see args.
func readSteps(v *visit.Visit) error {
	id, err := v.Target("id")
	if err != nil {
		return err
	}
	steps, err := v.Inspector.Steps(v.Ctx(), id)
	if err != nil {
		return err
	}
	for i := range steps.Done {
		steps.Done[i].Value = soundJSON(steps.Done[i].Value)
		if v.Redacts() || len(steps.Done[i].Value) == 0 {
			steps.Done[i].Value = nil
		}
	}
	for i := range steps.Mailbox {
		steps.Mailbox[i].Value = soundJSON(steps.Mailbox[i].Value)
		if v.Redacts() {
			steps.Mailbox[i].Value = nil
		}
	}
	return answer(v, http.StatusOK, steps)
}

func sendMessage(v *visit.Visit) error {
	var body struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	}
	if err := decode(v, &body); err != nil {
		return err
	}
	if body.Name == "" {
		return visit.BadRequest(`the body lacks "name", that of the message`)
	}
	if body.Value == nil {
		body.Value = json.RawMessage("null")
	}
	return on(v, "id", func(ctx context.Context, id string) error {
		return v.Inspector.Send(ctx, id, body.Name, body.Value)
	})
}

func forgetSteps(v *visit.Visit) error {
	return on(v, "id", func(ctx context.Context, id string) error {
		_, err := v.Inspector.ForgetSteps(ctx, id)
		return err
	})
}
