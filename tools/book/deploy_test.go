package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const deployed = repositoryRoot + "/examples/deploy/"

// TestFilesForDeployingAreThoseOfThePage: each stands on the page as it is.
func TestFilesForDeployingAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(repositoryRoot + "/docs/deploying.md")
	require.NoError(t, err)
	files, err := filepath.Glob(deployed + "*")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(page), string(text), file)
	}
}

// TestTheUnitFile: it has sections, each line of which is a setting, and waits longer than a pool takes to stop. Where
// there is a systemd it is asked too.
func TestTheUnitFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(deployed + "shop-worker.service")
	require.NoError(t, err)
	settings, section := map[string]string{}, ""
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "[") {
			require.Contains(t, []string{"[Unit]", "[Service]", "[Install]"}, line)
			section = line
			continue
		}
		name, value, found := strings.Cut(line, "=")
		require.True(t, found && section != "" && value != "", line)
		settings[section+name] = value
	}
	assert.Equal(t, "/usr/local/bin/shop worker", settings["[Service]ExecStart"])
	assert.Equal(t, "SIGTERM", settings["[Service]KillSignal"])
	assert.Equal(t, "multi-user.target", settings["[Install]WantedBy"])
	wait, err := strconv.Atoi(settings["[Service]TimeoutStopSec"])
	require.NoError(t, err)
	assert.Greater(t, wait, 30, "ShutdownTimeout is 25 s, and some seconds more")
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("no systemd is here to ask")
		return
	}
	unit := filepath.Join(t.TempDir(), "shop-worker.service")
	known := bytes.ReplaceAll(text, []byte("/usr/local/bin/shop"), []byte("/bin/sh"))
	require.NoError(t, os.WriteFile(unit, known, 0o600))
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", unit).CombinedOutput()
	assert.NoError(t, err, string(out))
}

// The parts of a manifest that are looked at. What is not here is a mistake in the file or missing in this list.
type (
	manifest struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   meta
		Spec       yaml.Node
	}
	meta struct {
		Name   string
		Labels map[string]string
	}
	deployment struct {
		Replicas int
		Selector selector
		Strategy struct {
			RollingUpdate struct {
				MaxSurge       int `yaml:"maxSurge"`
				MaxUnavailable int `yaml:"maxUnavailable"`
			} `yaml:"rollingUpdate"`
		}
		Template struct {
			Metadata meta
			Spec     struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []container
			}
		}
	}
	selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	container struct {
		Name, Image string
		Args        []string
		Env         []struct {
			Name, Value string
			ValueFrom   struct {
				SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
			} `yaml:"valueFrom"`
		}
		Ports []struct {
			Name string
			Port int `yaml:"containerPort"`
		}
		Readiness probe `yaml:"readinessProbe"`
		Liveness  probe `yaml:"livenessProbe"`
		Resources struct{ Requests, Limits map[string]string }
	}
	probe struct {
		Get              struct{ Path, Port string } `yaml:"httpGet"`
		Period           int                         `yaml:"periodSeconds"`
		Timeout          int                         `yaml:"timeoutSeconds"`
		FailureThreshold int                         `yaml:"failureThreshold"`
	}
)

// manifests are those of a file.
func manifests(t *testing.T, file string) (all []manifest) {
	t.Helper()
	text, err := os.ReadFile(deployed + file)
	require.NoError(t, err)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	for {
		var m manifest
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		require.NotEmpty(t, m.APIVersion)
		assert.Equal(t, "shop-worker", m.Metadata.Name)
		all = append(all, m)
	}
}

// strictly decodes a part and refuses fields that are not known.
func strictly(t *testing.T, node *yaml.Node, into any) {
	t.Helper()
	text, err := yaml.Marshal(node)
	require.NoError(t, err)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(into))
}

func TestTheManifests(t *testing.T) {
	t.Parallel()
	all := manifests(t, "shop-worker.yaml")
	require.Len(t, all, 2)
	assert.Equal(t, []string{"apps/v1", "Deployment"}, []string{all[0].APIVersion, all[0].Kind})
	var d deployment
	strictly(t, &all[0].Spec, &d)
	assert.Equal(t, d.Selector.MatchLabels, d.Template.Metadata.Labels, "the selector finds its pods")
	assert.Greater(t, d.Template.Spec.Grace, 30, "ShutdownTimeout is 25 s, and some seconds more")
	require.Len(t, d.Template.Spec.Containers, 1)
	c := d.Template.Spec.Containers[0]
	assert.Equal(t, []string{"worker"}, c.Args)
	assert.Equal(t, "/ready", c.Readiness.Get.Path)
	assert.Equal(t, "/live", c.Liveness.Get.Path)
	for _, p := range []probe{c.Readiness, c.Liveness} {
		assert.Equal(t, c.Ports[0].Name, p.Get.Port)
	}
	assert.Equal(t, ":"+strconv.Itoa(c.Ports[0].Port), c.Env[0].Value)

	assert.Equal(t, []string{"policy/v1", "PodDisruptionBudget"}, []string{all[1].APIVersion, all[1].Kind})
	var budget struct {
		MaxUnavailable int `yaml:"maxUnavailable"`
		Selector       selector
	}
	strictly(t, &all[1].Spec, &budget)
	assert.Equal(t, d.Selector, budget.Selector)
}

// TestTheScaler: its query names a metric that docs/metrics.md has, whose table is compared with what is exported.
func TestTheScaler(t *testing.T) {
	t.Parallel()
	all := manifests(t, "shop-worker-scaler.yaml")
	require.Len(t, all, 1)
	var s struct {
		Target   struct{ Name string } `yaml:"scaleTargetRef"`
		Min      int                   `yaml:"minReplicaCount"`
		Max      int                   `yaml:"maxReplicaCount"`
		Cooldown int                   `yaml:"cooldownPeriod"`
		Triggers []struct {
			Type     string
			Metadata struct {
				ServerAddress string `yaml:"serverAddress"`
				Query         string
				Threshold     string
			}
		}
	}
	strictly(t, &all[0].Spec, &s)
	assert.Equal(t, "shop-worker", s.Target.Name)
	assert.Positive(t, s.Min, "somebody has to move what is due")
	metrics, err := os.ReadFile(repositoryRoot + "/docs/metrics.md")
	require.NoError(t, err)
	assert.Contains(t, s.Triggers[0].Metadata.Query, "work_queue_processors_wanted")
	assert.Contains(t, string(metrics), "| `work_queue_processors_wanted` | gauge |")
}
