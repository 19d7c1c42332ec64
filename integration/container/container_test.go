//go:build docker

package container

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestContainerAnswersAndIsRemoved(t *testing.T) {
	t.Parallel()
	addr, stop, err := Start()
	if err != nil {
		t.Skipf("no container: %v", err)
	}
	assert.NoError(t, ping(addr))
	stop()
	assert.Error(t, ping(addr))
}
