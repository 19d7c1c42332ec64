package handler_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/265d0351/work/internal/handler"
)

// What a handler costs per job, beside the user's own code: decoding and calling.
func BenchmarkHandler(b *testing.B) {
	large := `[{"id":7,"Pad":"` + strings.Repeat("some text ", 10_000) + `"}]`
	for _, c := range []struct {
		name, args string
		fn         any
	}{
		{"nothing", `[]`, func() error { return nil }},
		{"context, ctx, job", `[]`, func(*shopContext, context.Context, *Job) error { return nil }},
		{"two int64", `[1234567,9007199254740993]`, (*shopContext).Create},
		{"scalars", `[1234567,"a name",true,2.5]`,
			func(*shopContext, context.Context, int64, string, bool, float64) error { return nil }},
		{"struct", `[{"ID":1,"Items":["a","b"]}]`, func(*shopContext, *Job, shapeOrder) error { return nil }},
		{"plain struct", `[{"id":7,"Pad":"some text"}]`, func(plainOrder) error { return nil }},
		{"plain struct of 100 kB", large, func(plainOrder) error { return nil }},
		{"another of 100 kB", large, func(struct {
			ID   int64 `json:"id"`
			Pad  string
			Tags []string
		}) error {
			return nil
		}},
		{"JSON as it stands, of 100 kB", large, func(json.RawMessage) error { return nil }},
		{"tail", `[1,2,3,4]`, func(...int64) error { return nil }},
		{"result", `[7]`, func(n int64) (int64, error) { return n, nil }},
	} {
		b.Run(c.name, func(b *testing.B) {
			h, p := compiled(b, shopContext{}, c.fn)
			own, job, ctx := p.UserContext(), &Job{Args: json.RawMessage(c.args)}, context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := h.Run(ctx, handler.Call{Own: own, Job: job, Args: job.Args}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUserContext(b *testing.B) {
	_, p := compiled(b, shopContext{}, (*shopContext).Create)
	b.ReportAllocs()
	for b.Loop() {
		p.UserContext()
	}
}
