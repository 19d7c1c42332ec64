package console

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJSONIsPrintedAsUTF8WhateverIsStored(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &Console{Out: &out, JSON: true}
	require.NoError(t, c.Show(map[string]any{"args": json.RawMessage("[\"<b>\",\"file-\xe9\"]")}, nil))
	assert.Equal(t, "{\"args\":[\"<b>\",\"file-\ufffd\"]}\n", out.String())
}
