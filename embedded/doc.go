// Package embedded is a Redis inside the process, for development and tests.
//
// A blank import adds the scheme memory:// to every DSN of the framework:
//
//	import _ "github.com/265d0351/work/embedded"
//
//	enq, err := work.NewEnqueuer("memory://shop")
//
// memory://NAME is one server per name, shared by everything in the process and kept until the process ends. After the
// name, a database and options are allowed as in redis://. Nothing is stored on disk.
//
// [Start] makes a server of one's own, whose clock can be held and moved.
package embedded
