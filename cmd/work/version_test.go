package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersionOf(t *testing.T) {
	t.Parallel()
	built := " " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH
	for _, row := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"nothing known", nil, "work (unknown)," + built},
		{"built here", &debug.BuildInfo{}, "work (devel)," + built},
		{"installed", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "work v1.2.3," + built},
		{"from a checkout", &debug.BuildInfo{Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2030-01-01T00:00:00Z"},
			{Key: "vcs.modified", Value: "true"},
		}}, "work (devel)," + built + ", revision abc of 2030-01-01T00:00:00Z, modified"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, versionOf(row.info).String())
		})
	}
}

func TestVersionAsJSON(t *testing.T) {
	t.Parallel()
	got := call("version", "--json")
	require.Zero(t, got.status)
	var v version
	require.NoError(t, json.Unmarshal([]byte(got.out), &v))
	assert.Equal(t, runtime.Version(), v.Go)
}
