// Package seal encrypts args and results of jobs with AES-256-GCM, for [work.Codecs], WorkerOptions.Codecs and
// JobOptions.Codecs: who can read Redis, its dumps and its replicas, but has no key, reads none of them.
//
//	sealer, err := seal.New(seal.Keys{
//		Seal:  "2026-11",
//		Known: map[string][]byte{"2026-11": new, "2026-05": old}, // 32 bytes each
//		Locks: locks,                                             // 32 bytes, for jobs that are unique by their args
//	})
//	enq, err := work.NewEnqueuer(dsn, work.Codecs(sealer))
//
// # Keys
//
// A key is known by its id, which stands beside what it has sealed, for everybody to read. To rotate: give the new key
// to all programs as one that is known; then have them seal with it; drop the old one when nothing is left that it has
// sealed: see docs/codecs.md. Jobs wait in between as long as they like.
//
// # Nonces
//
// Each value has 96 random bits, and AES-GCM is broken for a key that uses the same ones twice. After n values the
// chance of that is about n² / 2^97: with 2^32 values (4.3 thousand million) one in 2^33, which is where NIST SP
// 800-38D draws the line. A job is a value for its args and one each for its result, its steps and its states: with a
// thousand a second a key lasts 49 days at that line. So rotate keys by how much they seal.
//
// # What it does not do
//
// It binds a value to what it is (args of that name, the result of that job), so that nobody can put it in another's
// place unnoticed; but who can write to Redis can still put a job's args of yesterday into one of today of the same
// name, delete jobs and enqueue others. Lengths are as they were. Names, ids, tags, meta, keys and times are not
// sealed, nor are the texts of errors, nor what a job logs or checks in.
package seal
