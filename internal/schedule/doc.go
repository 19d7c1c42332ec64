// Package schedule is what a periodic job is made of: the spec and its ticks (Table), the definition as it is stored
// (Definition, Schedule), what is due at a moment (Due), and how definitions are changed in Redis while others change
// them too (Redefinition, Declared).
//
// The pool declares schedules with it, whoever has the lease enqueues what is due, and the inspector reads and changes
// what is stored. It has no state and no clock: all workers find the same ticks, and the same job for each.
package schedule
