package thoonk

import "strings"

// What is what an event says.
type What int

// What events say. Those of a kind of feed come from feeds of that kind only.
const (
	Connected    What = iota // the subscription stands; not for the first time: what happened meanwhile was missed
	Disconnected             // it does not, for the reason in Err; it is tried again
	Created                  // a feed was created
	Deleted                  // a feed was deleted
	Configured               // a feed has another config
	Published                // ID and Item were published or put
	Edited                   // ID is now Item
	Retracted                // ID was retracted, or gave way to a newer one
	Moved                    // ID is at Position
	Claimed                  // ID was claimed
	Finished                 // ID has ended, with the result Item or, if that is empty or missing, nil
)

// Event is something that happened to a feed, or to the subscription.
type Event struct {
	What     What
	Feed     string
	ID       string
	Item     []byte
	Position string // of Moved: First, Last, Before(id) or After(id)
	Instance string // of Created, Deleted, Configured: who did it
	Own      bool   // it was this client
	Err      error  // of Disconnected
}

// topics are the channels of feeds, and what they say. Each event is on one of them; feed.publishes is where programs
// that keep the config as a hash say what was put into a job feed.
var topics = map[string]What{
	"feed.publishes": Published,
	"feed.publish":   Published, "feed.edit": Edited, "feed.retract": Retracted, "feed.position": Moved,
	"feed.claimed": Claimed, "job.finish": Finished,
}

// registry are the channels of all feeds.
var registry = map[string]What{"newfeed": Created, "delfeed": Deleted, "conffeed": Configured}

// event reads a message. It returns false for what is none of ours.
func (c *Client) event(channel string, message []byte) (Event, bool) {
	name := strings.TrimPrefix(channel, c.prefix)
	first, second, both := strings.Cut(string(message), "\x00")
	if what, ok := registry[name]; ok {
		return Event{What: what, Feed: first, Instance: second, Own: second == c.instance}, both
	}
	topic, feed, _ := strings.Cut(name, ":")
	what, ok := topics[topic]
	e := Event{What: what, Feed: feed, ID: first}
	switch {
	case what == Moved:
		e.Position = second
	case both && (what != Finished || second != ""):
		e.Item = []byte(second)
	}
	return e, ok
}
