package redisconn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// durations are the query keys with a Go duration, and whether zero (no limit) is allowed.
var durations = map[string]struct {
	field  func(*endpoint) *time.Duration
	zeroOK bool
}{
	"dial_timeout":      {field: func(e *endpoint) *time.Duration { return &e.dialTimeout }},
	"read_timeout":      {field: func(e *endpoint) *time.Duration { return &e.readTimeout }},
	"write_timeout":     {field: func(e *endpoint) *time.Duration { return &e.writeTimeout }},
	"idle_timeout":      {field: func(e *endpoint) *time.Duration { return &e.idleTimeout }, zeroOK: true},
	"max_conn_lifetime": {field: func(e *endpoint) *time.Duration { return &e.maxConnLifetime }, zeroOK: true},
}

// knownOptions are all keys of the query, sorted.
func knownOptions() []string {
	known := append(slices.Collect(maps.Keys(durations)), "pool_size", "db",
		"tls_ca", "tls_cert", "tls_key", "tls_server_name", "tls_insecure_skip_verify")
	slices.Sort(known)
	return known
}

// setOptions checks every key of the query and applies the sizes and times. A value that is quoted in an error is that
// of a key known to hold no secret.
func (e *endpoint) setOptions(query url.Values) error {
	known := append(knownOptions(), e.own...)
	slices.Sort(known)
	for _, key := range slices.Sorted(maps.Keys(query)) {
		switch {
		case !slices.Contains(known, key):
			return fmt.Errorf("has the unknown option %q%s: known are %s", key, didYouMean(key, known),
				strings.Join(known, ", "))
		case len(query[key]) > 1:
			return fmt.Errorf("has the option %s %d times: keep one", key, len(query[key]))
		case key == "db" && e.network == "tcp":
			return fmt.Errorf("has the option db: write the database into the path, as in redis://%s/%s", e.addr,
				query.Get(key))
		}
		if err := e.setOption(key, query.Get(key)); err != nil {
			return err
		}
	}
	return nil
}

func (e *endpoint) setOption(key, value string) error {
	if key == "pool_size" {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxPoolSize {
			return fmt.Errorf("has pool_size=%q: use 1 to %d", value, maxPoolSize)
		}
		e.poolSize = n
		return nil
	}
	option, ok := durations[key]
	if !ok {
		return nil
	}
	d, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return fmt.Errorf("has %s=%q: use a duration such as 500ms, 3s or 2m", key, value)
	case d < 0, d == 0 && !option.zeroOK:
		return fmt.Errorf("has %s=%q: use a duration above zero, such as 3s", key, value)
	}
	*option.field(e) = d
	return nil
}

func (e *endpoint) setTLS(u *url.URL, query url.Values) error {
	if u.Scheme != "rediss" {
		for _, key := range slices.Sorted(maps.Keys(query)) {
			if strings.HasPrefix(key, "tls_") {
				return fmt.Errorf("has the option %s but the scheme %s: TLS needs rediss://", key, u.Scheme)
			}
		}
		return nil
	}
	e.tls = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}
	if e.tls.ServerName == "" {
		e.tls.ServerName = "localhost"
	}
	if name := query.Get("tls_server_name"); name != "" {
		e.tls.ServerName = name
	}
	if query.Has("tls_insecure_skip_verify") {
		skip, err := strconv.ParseBool(query.Get("tls_insecure_skip_verify"))
		if err != nil {
			return fmt.Errorf("has tls_insecure_skip_verify=%q: use true or false",
				query.Get("tls_insecure_skip_verify"))
		}
		e.tls.InsecureSkipVerify = skip // asked for by name
	}
	if query.Has("tls_ca") {
		if err := e.setCA(query.Get("tls_ca")); err != nil {
			return err
		}
	}
	return e.setCertificate(query.Get("tls_cert"), query.Get("tls_key"))
}

func (e *endpoint) setCA(file string) error {
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("has tls_ca=%q, which cannot be read: %w", file, err)
	}
	e.tls.RootCAs = x509.NewCertPool()
	if !e.tls.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("has tls_ca=%q, which has no certificate: give a PEM file", file)
	}
	return nil
}

func (e *endpoint) setCertificate(certFile, keyFile string) error {
	if certFile == "" && keyFile == "" {
		return nil
	}
	if certFile == "" || keyFile == "" {
		return errors.New("has only one of tls_cert and tls_key: give both")
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return fmt.Errorf("has tls_cert=%q and tls_key=%q, which cannot be used: %w", certFile, keyFile, err)
	}
	e.tls.Certificates = []tls.Certificate{pair}
	return nil
}
