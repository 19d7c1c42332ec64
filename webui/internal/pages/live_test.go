package pages

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnEventIsALineForEachLine(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "event: x\ndata: a\ndata: \ndata: b\n\n", string(sse("x", []byte("a\n\nb"))))
	assert.Equal(t, "event: x\ndata: a\ndata: event: y\n\n", string(sse("x", []byte("a\r\nevent: y"))),
		"nobody can slip in an event")
}
