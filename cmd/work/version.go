package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
)

// version is what the program knows about its own making. Fields are empty where the build left no trace of them.
type version struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the source differed from the revision
}

func newVersionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(context.Context, *cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			v := versionOf(info)
			if a.JSON {
				return json.NewEncoder(a.Out).Encode(v)
			}
			_, err := fmt.Fprintln(a.Out, v)
			return err
		}),
	}
}

// versionOf reads what the build wrote into the program; info may be nil.
func versionOf(info *debug.BuildInfo) version {
	v := version{Version: "(unknown)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return v
	}
	v.Version = cmp.Or(info.Main.Version, "(devel)")
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Revision = setting.Value
		case "vcs.time":
			v.Time = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}

// String is one line.
func (v version) String() string {
	text := fmt.Sprintf("work %s, %s, %s", v.Version, v.Go, v.Platform)
	if v.Revision == "" {
		return text
	}
	text += ", revision " + v.Revision
	if v.Time != "" {
		text += " of " + v.Time
	}
	if v.Modified {
		text += ", modified"
	}
	return text
}
