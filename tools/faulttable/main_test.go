package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFiguresReplaceWhatStoodBetweenTheMarkers(t *testing.T) {
	t.Parallel()
	figures, err := read(strings.NewReader(`{"Test":"TestB","Fault":"a kill","Result":"lost 0"}
{"Test":"TestA","Fault":"a pause","Result":"counted 0"}
`))
	require.NoError(t, err)
	at := place{"scale", "scale"}
	text := at.table(figures, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	assert.Contains(t, text, "Measured 2026-01-02 03:04 UTC by `make scale`")
	page, err := at.replace([]byte("# page\n"+at.begin()+"old\n"+at.end()+"rest\n"), text)
	require.NoError(t, err)
	assert.NotContains(t, string(page), "old")
	assert.Regexp(t, "(?s)^# page\n.*counted 0.*`TestA`.*lost 0.*`TestB`.*rest\n$", string(page))
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	_, err := read(strings.NewReader(""))
	require.ErrorContains(t, err, "no figures")
	_, err = read(strings.NewReader("{}\nnonsense\n"))
	require.ErrorContains(t, err, "line 2")
	at := place{"faults", "fault-long"}
	_, err = at.replace([]byte("no markers"), "text")
	require.ErrorContains(t, err, "faults:begin")
	_, err = at.replace([]byte(at.end()+at.begin()), "text")
	require.ErrorContains(t, err, "faults:end")
}
