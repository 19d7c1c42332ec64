package api

import (
	"context"
	"net/http"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/alerts"
	"github.com/265d0351/work/webui/internal/visit"
)

func readAlerts(v *visit.Visit) error {
	found, err := alerts.Look(v.Ctx(), v.Inspector, v.StuckAfter)
	if err != nil {
		return err
	}
	incidents, silences, err := v.Inspector.Incidents(v.Ctx())
	if err != nil {
		return err
	}
	return answer(v, http.StatusOK, struct {
		Alerts    []alerts.Alert     `json:"alerts"`
		Incidents []inspect.Incident `json:"incidents"`
		Silences  []inspect.Silence  `json:"silences"`
	}{listed(found), listed(incidents), listed(silences)})
}

func silenceAlert(v *visit.Visit) error {
	return on(v, "rule", func(ctx context.Context, rule string) error {
		within, err := v.Silence()
		if err != nil {
			return err
		}
		return v.Inspector.SilenceAlert(ctx, rule, within, v.Actor)
	})
}

func hearAlert(v *visit.Visit) error {
	return on(v, "rule", func(ctx context.Context, rule string) error {
		return v.Inspector.SilenceAlert(ctx, rule, 0, v.Actor)
	})
}
