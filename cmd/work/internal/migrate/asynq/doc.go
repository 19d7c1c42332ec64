// Package asynq reads the layout of asynq 0.18 and newer in Redis, and takes tasks out of it. It was written from the
// documentation of asynq and by looking at what the library does.
package asynq
