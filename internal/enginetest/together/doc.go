// Package together tests jobs that are taken together: how large batches are, what becomes of each member, whoever
// fails, dies, stops or is cancelled meanwhile, and what they cost. It has nothing but tests.
package together
