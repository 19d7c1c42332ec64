package rueidisdriver

import (
	"context"

	"github.com/redis/rueidis"
)

// Subscribe listens on one channel.
func (d *Driver) Subscribe(ctx context.Context, channel string, ready func(), receive func(message []byte)) error {
	return d.SubscribeAll(ctx, []string{channel}, ready, func(_ string, message []byte) { receive(message) })
}

// SubscribeAll listens on several channels.
func (d *Driver) SubscribeAll(ctx context.Context, channels []string, ready func(),
	receive func(channel string, message []byte)) error {
	return d.listen(ctx, d.client.B().Subscribe().Channel(channels...).Build(), len(channels), ready, receive)
}

// SubscribePatterns listens on all channels that match.
func (d *Driver) SubscribePatterns(ctx context.Context, patterns []string, ready func(),
	receive func(channel string, message []byte)) error {
	return d.listen(ctx, d.client.B().Psubscribe().Pattern(patterns...).Build(), len(patterns), ready, receive)
}

func (d *Driver) listen(ctx context.Context, subscribe rueidis.Completed, awaited int, ready func(),
	receive func(channel string, message []byte)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, giveBack := d.client.Dedicate()
	defer giveBack()
	defer client.Close()
	stands, messages := make(chan struct{}, awaited), make(chan rueidis.PubSubMessage)
	lost := client.SetPubSubHooks(rueidis.PubSubHooks{
		OnSubscription: func(rueidis.PubSubSubscription) {
			select {
			case stands <- struct{}{}:
			case <-ctx.Done():
			}
		},
		OnMessage: func(m rueidis.PubSubMessage) {
			select {
			case messages <- m:
			case <-ctx.Done():
			}
		},
	})
	if err := client.Do(ctx, subscribe).Error(); err != nil && ctx.Err() == nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-lost:
			return err
		case <-stands:
			if awaited--; awaited == 0 {
				ready()
			}
		case m := <-messages:
			receive(m.Channel, []byte(m.Message))
		}
	}
}
