package metrics

import (
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// patience is how long a test waits for a signal; nothing depends on it while all is well.
const patience = 2 * time.Minute

var quiet = slog.New(slog.DiscardHandler)

func testCtx(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// site serves the metrics of collectors, and reads them as Prometheus does.
type site struct {
	t      *testing.T
	server *httptest.Server
}

func newSite(t *testing.T, collectors ...prometheus.Collector) *site {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		require.NoError(t, registry.Register(c))
	}
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(server.Close)
	return &site{t: t, server: server}
}

// page is what one scrape brought.
type page struct {
	t        *testing.T
	families map[string]*dto.MetricFamily
}

func (s *site) scrape() *page {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL, nil)
	require.NoError(s.t, err)
	response, err := s.server.Client().Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close() //lint:ignore errcheck it was read
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, response.StatusCode, "%s", text)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	require.NoError(s.t, err)
	return &page{t: s.t, families: families}
}

// find returns the series of a family that has these labels: name, value, name, value.
func (p *page) find(family string, labels ...string) *dto.Metric {
	f := p.families[family]
	if f == nil {
		return nil
	}
	for _, m := range f.GetMetric() {
		has := map[string]string{}
		for _, pair := range m.GetLabel() {
			has[pair.GetName()] = pair.GetValue()
		}
		all := len(has) == len(labels)/2
		for n := 0; n < len(labels); n += 2 {
			value, ok := has[labels[n]]
			all = all && ok && value == labels[n+1]
		}
		if all {
			return m
		}
	}
	return nil
}

// value is that of a series, NaN where there is none.
func (p *page) value(family string, labels ...string) float64 {
	switch m := p.find(family, labels...); {
	case m == nil:
		return math.NaN()
	case m.Counter != nil:
		return m.Counter.GetValue()
	default:
		return m.Gauge.GetValue()
	}
}

// histogram returns how many were counted, and their sum.
func (p *page) histogram(family string, labels ...string) (count uint64, sum float64) {
	p.t.Helper()
	m := p.find(family, labels...)
	require.NotNil(p.t, m, "there is no %s of %v", family, labels)
	return m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum()
}

// outcomes are those of a name that are not 0.
func (p *page) outcomes(name string) map[string]float64 {
	all := map[string]float64{}
	for _, outcome := range outcomeNames {
		if n := p.value("work_job_outcomes_total", "name", name, "outcome", outcome); n != 0 {
			all[outcome] = n
		}
	}
	return all
}

func (p *page) is(want float64, family string, labels ...string) {
	p.t.Helper()
	assert.InDelta(p.t, want, p.value(family, labels...), 0, "%s of %v", family, labels)
}

// options are those of a pool that a Recorder observes.
func poolOptions(t *testing.T, s redistest.Server, observers ...work.Observer) work.WorkerOptions {
	return work.WorkerOptions{Redis: s.DSN(), Namespace: redistest.Namespace(t), Logger: quiet, Observers: observers}
}
