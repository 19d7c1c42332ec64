package compress_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/compress"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/seal"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// order is JSON as jobs have it, of about so many bytes.
func order(bytes int) []byte {
	var b strings.Builder
	b.WriteString(`[[`)
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, `{"sku":"A-%05d","name":"Article %d","quantity":%d,"price":"%d.%02d"},`, i*7919%100_000, i, i%9,
			i*31%500, i*17%100)
	}
	return append([]byte(strings.TrimSuffix(b.String(), ",")), "]]"...)
}

func TestWhatIsCompressed(t *testing.T) {
	t.Parallel()
	random := make([]byte, 4096)
	_, _ = rand.Read(random)
	for name, row := range map[string]struct {
		options compress.Options
		value   []byte
		stored  bool
	}{
		"short":                 {compress.Options{}, order(2000)[:1024], false},
		"above the size":        {compress.Options{}, order(2000), true},
		"a size of one's own":   {compress.Options{Above: 64}, order(500), true},
		"no smaller":            {compress.Options{}, random, false},
		"only opens":            {compress.Options{Above: -1}, order(2000), false},
		"larger than may be":    {compress.Options{Most: 1500}, order(2000), false},
		"nothing":               {compress.Options{Above: 1}, nil, false},
		"as large as it may be": {compress.Options{Most: 8 << 20}, bytes.Repeat([]byte("a"), 8<<20), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := compress.New(row.options)
			stored, key, err := c.Encode("args of a", row.value)
			require.NoError(t, err)
			assert.Empty(t, key)
			require.Equal(t, row.stored, stored != nil)
			if stored == nil {
				return
			}
			assert.Less(t, len(stored), len(row.value))
			open, err := c.Decode("args of a", stored, "")
			require.NoError(t, err)
			assert.True(t, bytes.Equal(row.value, open))
		})
	}
}

// A few bytes may say that they are many: with the size in their head or without it.
func TestABombIsRefused(t *testing.T) {
	t.Parallel()
	bomb := bytes.Repeat([]byte("0"), 32<<20)
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	whole := encoder.EncodeAll(bomb, nil)
	var streamed bytes.Buffer
	stream, err := zstd.NewWriter(&streamed)
	require.NoError(t, err)
	_, err = stream.Write(bomb)
	require.NoError(t, err)
	require.NoError(t, stream.Close())
	c := compress.New(compress.Options{Most: 1 << 20})
	for name, stored := range map[string][]byte{"with its size": whole, "without": streamed.Bytes(),
		"in many frames": bytes.Repeat(encoder.EncodeAll(bomb[:1<<19], nil), 64)} {
		t.Run(name, func(t *testing.T) {
			assert.Less(t, len(stored), 10_000)
			_, err := c.Decode("args of a", stored, "")
			assert.ErrorContains(t, err, "it has more than 1048576 bytes when it is opened")
		})
	}
}

func TestWhatWasChangedDoesNotOpen(t *testing.T) {
	t.Parallel()
	c := compress.New(compress.Options{})
	stored, _, err := c.Encode("args of a", order(2000))
	require.NoError(t, err)
	flipped := bytes.Clone(stored)
	flipped[len(flipped)/2] ^= 1
	for name, text := range map[string][]byte{"flipped": flipped, "cut": stored[:len(stored)-9],
		"no zstd": []byte("[1]")} {
		_, err := c.Decode("args of a", text, "")
		assert.ErrorContains(t, err, "it is not what was compressed", name)
	}
}

// Compressed, sealed, and both: on its way through Redis, and read by a worker that knows both.
func TestJobsWithCompressedArgs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		sealer, err := seal.New(seal.Keys{Seal: "k1", Known: map[string][]byte{"k1": bytes.Repeat([]byte("1"), 32)}})
		require.NoError(t, err)
		zstd, namespace := compress.New(compress.Options{}), redistest.Namespace(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		i, err := inspect.New(s.DSN(), work.Namespace(namespace))
		require.NoError(t, err)
		t.Cleanup(func() { _ = i.Close() })
		want, ids := string(order(5000)), []string{}
		for text, codecs := range map[string][]work.Codec{"": nil, "encoded by zstd, ": {zstd},
			"sealed with key k1, 4": {sealer}, "sealed with key k1, ": {zstd, sealer}} {
			enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(namespace), work.Codecs(codecs...))
			require.NoError(t, err)
			t.Cleanup(func() { _ = enq.Close() })
			receipt, err := enq.Enqueue(ctx, "order", want)
			require.NoError(t, err)
			ids = append(ids, receipt.ID)
			job, err := i.Job(ctx, receipt.ID)
			require.NoError(t, err)
			shown, encoded := inspect.Encoded(job.Args)
			assert.Equal(t, codecs != nil, encoded)
			assert.True(t, strings.HasPrefix(shown, strings.TrimSuffix(text, "4")), "%s: %s", text, shown)
			if len(codecs) > 0 && codecs[0] == work.Codec(zstd) {
				assert.Less(t, len(job.Args), len(want)/2)
			}
		}
		pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.DSN(), Namespace: namespace,
			Codecs: []work.Codec{zstd, sealer}}).JobWithOptions("order", work.JobOptions{Retention: time.Hour},
			func(got string) (string, error) {
				assert.Equal(t, want, got)
				return got, nil
			})
		require.NoError(t, pool.Start(ctx))
		results, err := work.WaitAll[string](ctx, pool.Enqueuer(), ids...)
		require.NoError(t, err)
		assert.Equal(t, []string{want, want, want, want}, results)
		require.NoError(t, pool.Stop(ctx))
	})
}

func FuzzOpen(f *testing.F) {
	c := compress.New(compress.Options{Most: 1 << 16})
	stored, _, err := c.Encode("args of a", order(2000))
	require.NoError(f, err)
	f.Add(stored)
	f.Add(stored[:20])
	f.Fuzz(func(t *testing.T, text []byte) {
		open, err := c.Decode("args of a", text, "")
		if err == nil && len(open) > 1<<16 {
			t.Fatalf("%d bytes came of %d", len(open), len(text))
		}
		if stored, _, err := c.Encode("args of a", text); err != nil {
			t.Fatal(err)
		} else if stored != nil {
			again, err := c.Decode("args of a", stored, "")
			if err != nil || !bytes.Equal(again, text) {
				t.Fatal("it came back otherwise", err)
			}
		}
	})
}

// The price of codecs: WORK_CODEC_FIGURES names a file for a table of what a value of so many bytes becomes in a
// record, and of how long it takes to store and to open it, on a machine that is quiet. Without it each is done once.
func TestThePriceOfCodecs(t *testing.T) {
	file := os.Getenv("WORK_CODEC_FIGURES")
	sealer, err := seal.New(seal.Keys{Seal: "k1", Known: map[string][]byte{"k1": bytes.Repeat([]byte("1"), 32)}})
	require.NoError(t, err)
	zstd := compress.New(compress.Options{Above: 1})
	var table strings.Builder
	fmt.Fprintln(&table, "| bytes of JSON | codecs | bytes stored | to store | to open |\n|---|---|---|---|---|")
	for _, size := range []int{200, 2_000, 8_000, 100_000} {
		value := order(size)
		for _, codecs := range [][]work.Codec{{zstd}, {sealer}, {zstd, sealer}} {
			stored := encoded(codecs, value)
			assert.Less(t, len(stored), len(value)+64, "%d bytes", size)
			assert.Equal(t, value, opened(t, codecs, stored), "%d bytes", size)
			if file == "" {
				continue
			}
			encode := testing.Benchmark(func(b *testing.B) {
				for b.Loop() {
					stored = encoded(codecs, value)
				}
			})
			open := testing.Benchmark(func(b *testing.B) {
				for b.Loop() {
					opened(b, codecs, stored)
				}
			})
			names := codecs[0].Name()
			if len(codecs) > 1 {
				names += ", " + codecs[1].Name()
			}
			fmt.Fprintf(&table, "| %d | %s | %d | %.1f µs | %.1f µs |\n", len(value), names,
				base64.StdEncoding.EncodedLen(len(stored)), float64(encode.NsPerOp())/1e3, float64(open.NsPerOp())/1e3)
		}
	}
	if file != "" {
		require.NoError(t, os.WriteFile(file, []byte(table.String()), 0o600))
	}
}

// encoded is a value as the codecs make it; all of them do.
func encoded(codecs []work.Codec, value []byte) []byte {
	for _, codec := range codecs {
		value, _, _ = codec.Encode("args of a", value)
	}
	return value
}

// opened is it again.
func opened(t testing.TB, codecs []work.Codec, stored []byte) []byte {
	var err error
	for _, codec := range slices.Backward(codecs) {
		key := ""
		if codec.Name() == seal.Name {
			key = "k1"
		}
		if stored, err = codec.Decode("args of a", stored, key); err != nil {
			t.Fatal(err)
		}
	}
	return stored
}
