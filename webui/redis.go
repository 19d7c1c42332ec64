package webui

import "github.com/265d0351/work"

func showRedis(v *visit) error {
	server, err := v.inspector.Server(v.ctx())
	if err != nil {
		return err
	}
	counts, err := v.inspector.Counts(v.ctx())
	if err != nil {
		return err
	}
	size := 0
	if v.canAct() {
		if size, err = v.inspector.DoctorSize(v.ctx(), 0); err != nil {
			return err
		}
	}
	return v.show("redis", page{Title: "Redis", Nav: "/redis", Now: server.Now, Body: struct {
		Server work.ServerInfo
		Counts work.Counts
		Used   int // percent of the memory
		Alerts []alert
		Size   int // entries that the doctor would look at
	}{server, counts, percent(int(server.MemoryUsed/1024), int(server.MemoryMax/1024)), serverAlerts(server), size}})
}
