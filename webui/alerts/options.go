package alerts

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Options says where alerts are sent and when.
type Options struct {
	URL    string      // of the webhook, by http or https; "" is PagerDutyURL where Shape is that
	Shape  Shape       // what is posted; default ShapeJSON
	Secret string      // for the shape: the key of PagerDuty
	Header http.Header // sent as well, such as Authorization

	Link  string        // address of the dashboard, in front of the links of alerts; "" sends none
	After time.Duration // an alert is told when it has stood for so long, its end likewise; default a minute
	Every time.Duration // how often it looks; default 15 s, at least a second
	Notes bool          // tell notes too, such as a queue that is paused

	StuckAfter time.Duration // as that of webui.Options; default an hour
	Client     *http.Client  // default one of its own; redirects are not followed
	Logger     *slog.Logger  // for what cannot be told; default slog.Default()
}

const (
	defaultAfter = time.Minute
	defaultEvery = 15 * time.Second
	leaseLife    = time.Minute // longer than a round of one message takes: it is kept before each
	maxTries     = 20          // rounds in which a message has failed before it is given up
	maxBackoff   = 10 * time.Minute
)

func (o Options) withDefaults() (Options, error) {
	if o.Shape == "" {
		o.Shape = ShapeJSON
	}
	if o.URL == "" && o.Shape == ShapePagerDuty {
		o.URL = PagerDutyURL
	}
	if u, err := url.Parse(o.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return o, errors.New("the webhook of alerts has no address that can be used: give one that " +
			"begins with https://")
	}
	if o.Shape == ShapePagerDuty && o.Secret == "" {
		return o, errors.New("PagerDuty wants the key of an integration: give it as Secret")
	}
	if o.After <= 0 {
		o.After = defaultAfter
	}
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.Every < time.Second {
		return o, fmt.Errorf("alerts cannot be looked for each %s: use a second or more", o.Every)
	}
	if o.StuckAfter <= 0 {
		o.StuckAfter = time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, nil
}
