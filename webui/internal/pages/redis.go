package pages

import (
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

func (s *Site) showRedis(v *visit.Visit) error {
	server, err := v.Inspector.Server(v.Ctx())
	if err != nil {
		return err
	}
	counts, err := v.Inspector.Counts(v.Ctx())
	if err != nil {
		return err
	}
	size := 0
	if v.MayAct {
		if size, err = doctor.Size(v.Ctx(), v.Inspector, 0); err != nil {
			return err
		}
	}
	return s.show(v, "redis", page{Title: "Redis", Nav: "/redis", Now: server.Now, Body: struct {
		Server inspect.ServerInfo
		Counts inspect.Counts
		Used   int // percent of the memory
		Alerts []alert
		Size   int // entries that the doctor would look at
	}{server, counts, format.Percent(int(server.MemoryUsed/1024), int(server.MemoryMax/1024)), serverAlerts(server),
		size}})
}
