package api

import (
	"net/http"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/visit"
)

func readAudit(v *visit.Visit) error {
	limit, err := v.Number("limit", 100, 1000)
	if err != nil {
		return err
	}
	page, err := v.Inspector.Audit(v.Ctx(), inspect.AuditOptions{Limit: limit, Actor: v.Query.Get("actor"),
		Action: v.Query.Get("action"), Target: v.Query.Get("target"), Cursor: v.Query.Get("cursor")})
	if err != nil {
		return err
	}
	for n := range page.Entries {
		page.Entries[n].Targets = listed(page.Entries[n].Targets)
	}
	return answer(v, http.StatusOK, page)
}
