package codec

// What values are for, in the words that codecs authenticate: they are stored, and must not change.

// Args is for the args of jobs of that name.
func Args(name string) string { return "args of " + name }

// Argument is for one of them that is an object.
func Argument(name string) string { return "argument of " + name }

// Result is for what the job of that id has returned.
func Result(id string) string { return "result of " + id }

// Step is for what a step of a job keeps.
func Step(id, name string) string { return "step of " + id + "\x00" + name }

// State is for what a job has saved.
func State(id string) string { return "state of " + id }

// Message is for one that was sent to a job.
func Message(id, name string) string { return "message to " + id + "\x00" + name }
