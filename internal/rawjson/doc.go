// Package rawjson reads and changes JSON as the text that it is: where a value ends, which elements an array has, where
// the members of an object stand. What it does not touch stays byte for byte. The records of jobs and the arguments of
// handlers are read with it, which is many times faster than encoding/json and makes no copies.
//
// Where it is narrower than encoding/json it says so, and its caller asks encoding/json; it never takes what that would
// refuse, nor reads it otherwise. It knows no Go types: see package exactjson for the values of programs.
package rawjson
