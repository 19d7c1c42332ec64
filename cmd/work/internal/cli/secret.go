package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/dsn"
	"github.com/265d0351/work/cmd/work/internal/exit"
)

// maxSecret is how many bytes a file with a password has at the most.
const maxSecret = 64 << 10

// ReadSecret returns what is in a file, without the end of its last line. flag names the file in errors.
func ReadSecret(flag, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", exit.Usagef("--%s cannot be read: %w", flag, err)
	}
	defer file.Close() //lint:ignore errcheck it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	text = bytes.TrimRight(text, "\r\n")
	switch {
	case err != nil:
		return "", exit.Usagef("--%s cannot be read: %w", flag, err)
	case len(text) == 0:
		return "", exit.Usagef("--%s names the file %s, which is empty: put the secret into it", flag, path)
	case len(text) > maxSecret || bytes.ContainsAny(text, "\r\n\x00"):
		return "", exit.Usagef("--%s names the file %s, which has more than one line: put the secret alone into it",
			flag, path)
	}
	return string(text), nil
}

// WarnOfSecret says that what a flag was given can be seen by all who may list processes.
func (a *App) WarnOfSecret(cmd *cobra.Command, flag, instead string) {
	if cmd.Flags().Changed(flag) {
		fmt.Fprintf(a.Err, "work: others on this machine can see the secret in --%s: give it in %s\n", flag, instead)
	}
}

// addPassword puts the password for Redis into its DSN, once: from a file, or from the environment where the DSN has
// none.
func (a *App) addPassword() error {
	given := a.RedisPassword
	if a.RedisPasswordFile != "" {
		secret, err := ReadSecret("redis-password-file", a.RedisPasswordFile)
		if err != nil {
			return err
		}
		if dsn.HasPassword(a.Redis) {
			return exit.Usagef("--redis-password-file is given, and --redis or WORK_REDIS has a password: " +
				"leave one out")
		}
		given = secret
	}
	a.RedisPassword, a.RedisPasswordFile = "", ""
	if given != "" && a.Redis != "" && !dsn.HasPassword(a.Redis) {
		a.Redis = dsn.WithPassword(a.Redis, given)
	}
	return nil
}
