// Package handler turns functions of a program into handlers and middleware that can be called fast: it is all that the
// framework does with reflect to call functions.
//
// A worker pool has one [Compiler]. A function is looked at once, when it is registered: described without reflect,
// judged, and prepared. What cannot be used is a [Refusal] that says what to change. Running a job then decodes its
// arguments into a list of values, which is used again, and calls the function.
//
// Arguments follow encoding/json with two exceptions: the list must be as long as the parameters, and null needs a
// parameter that knows it (pointer, map, slice, interface, a type with an UnmarshalJSON of its own but not time.Time
// and big.Int). So unknown fields of a struct are ignored, which a rolling deploy needs, unless the handler is Strict.
// An any, wherever it is in a parameter, holds a number as float64, but no integer is rounded: one that a float64
// cannot hold is an int64, beyond that a json.Number.
//
// The package knows nothing of jobs but the type of the pointer that functions take. It never recovers from a panic of
// a handler or of a middleware: who runs them does.
package handler
