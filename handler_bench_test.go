package work

import (
	"context"
	"encoding/json"
	"testing"
)

// What a handler costs per job, beside the user's own code: decoding and calling.
func BenchmarkHandler(b *testing.B) {
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
		{"tail", `[1,2,3,4]`, func(...int64) error { return nil }},
		{"result", `[7]`, func(n int64) (int64, error) { return n, nil }},
	} {
		b.Run(c.name, func(b *testing.B) {
			h, p := compiled(b, shopContext{}, c.fn)
			uc, job, ctx := p.instance(), &Job{Args: json.RawMessage(c.args)}, context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := h.run(ctx, uc, job); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkInstance(b *testing.B) {
	_, p := compiled(b, shopContext{}, (*shopContext).Create)
	b.ReportAllocs()
	for b.Loop() {
		p.instance()
	}
}

func BenchmarkChain(b *testing.B) {
	for name, mws := range map[string][]any{
		"no middleware": nil, "one": {passOn}, "three": {passOn, passOn, passOn},
		"one with context": {func(_ *traceContext, ctx context.Context, _ *Job,
			next NextFunc) error {
			return next(ctx)
		}},
	} {
		b.Run(name, func(b *testing.B) {
			run, p, _ := traced(b, identity, mws...)
			uc, job, ctx := p.instance(), &Job{Args: json.RawMessage(`[7]`)}, context.Background()
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := run(ctx, uc, job); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSplitArray(b *testing.B) {
	args := []byte(`[1234567,"a name",{"id":1,"items":["a","b",{"c":[1,2,3]}]},true,null]`)
	var pieces [][]byte
	b.SetBytes(int64(len(args)))
	b.ReportAllocs()
	for b.Loop() {
		pieces, _ = splitArray(pieces[:0], args)
	}
}
