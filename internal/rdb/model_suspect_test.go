package rdb_test

import (
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
)

// prefetchOf is how many jobs a worker fetches beyond those that it runs: some of the workers do, some do not.
func prefetchOf(worker string) string {
	if worker[len(worker)-1]%2 == 0 {
		return "0"
	}
	return "7"
}

// withoutTimes leaves of the words about crashes who died, and who began the job last.
func withoutTimes(crashes string) string {
	words := strings.Fields(crashes)
	for i, word := range words {
		switch word[0] {
		case '+', '?':
			words[i] = word[:strings.LastIndexByte(word, ':')]
		default:
			who, _, _ := strings.Cut(word, "@")
			words[i] = who + "@"
		}
	}
	return strings.Join(words, " ")
}

// blame notes that a worker died with a job: whether it counts is a matter of whether the job had begun.
func (m *model) blame(died, element string) {
	job := m.jobs[idOf(element)]
	number, _, _ := strings.Cut(element, ":")
	began := slices.Contains(job.crashes, "+"+died+":"+number)
	var words []string
	doubt := ""
	for _, word := range job.crashes {
		switch word[0] {
		case '+':
		case '?':
			doubt = word
		default:
			words = append(words, word)
		}
	}
	presumed := 2 // of one that did not say whether it prefetches
	if m.serves[died] != nil {
		presumed = map[string]int{"0": 1, "7": 0}[prefetchOf(died)]
	}
	if (began || doubt == "" && len(words) < presumed) && !m.absolved[died] {
		words = append(words, died+"@")
	} else if doubt == "" {
		doubt = "?" + died
	}
	if doubt != "" {
		words = append(words, doubt)
	}
	job.crashes = words
}

// suspect has a worker note a job that it is about to begin, perhaps one that is no longer its own.
func (m *machine) suspect(t *rapid.T) {
	m.suspectOn(t, m.choose(t, "worker", func(a *actor) bool { return len(a.held) > 0 }))
}

func (m *machine) suspectOn(t *rapid.T, a *actor) {
	element := rapid.SampledFrom(slices.Sorted(maps.Keys(a.held))).Draw(t, "job")
	id, claim := a.id, a.held[element].Claim
	m.request(t, step{
		title: id + " suspects " + element,
		send: func(store *rdb.Store) (any, error) {
			return store.Worker(id).Suspect(background, claim)
		},
		execute: func() any {
			if !slices.Contains(m.inProcess[id][claim.Queue], element) {
				return false
			}
			if job := m.jobs[idOf(element)]; len(job.crashes) > 0 {
				number, _, _ := strings.Cut(element, ":")
				job.crashes = slices.DeleteFunc(job.crashes, func(word string) bool { return word[0] == '+' })
				job.crashes = append(job.crashes, "+"+id+":"+number)
			}
			return true
		},
	})
}

// absolveSome takes back that a worker died, of any jobs that there are.
func (m *machine) absolveSome(t *rapid.T) {
	id, ids := m.someDead(t), slices.Sorted(maps.Keys(m.jobs))
	m.request(t, step{
		title: id + " is absolved",
		send: func(store *rdb.Store) (any, error) {
			return store.Worker(id).DeclareAlive(background, ids)
		},
		execute: func() any {
			if m.serves[id] != nil {
				m.absolved[id] = true
			}
			if m.stopped[id] != "" { // it was forgotten before this came
				m.stopped[id] = "fenced {" + id + "}"
			}
			taken := 0
			for _, of := range ids {
				taken += m.absolve(id, of)
			}
			return taken
		},
	})
}

func (m *model) absolve(worker, id string) (taken int) {
	job := m.jobs[id]
	if job == nil {
		return 0
	}
	var words []string
	for _, word := range job.crashes {
		if word == worker+"@" {
			word, taken = "?"+worker, 1
		}
		if word[0] == '?' {
			words = slices.DeleteFunc(words, func(w string) bool { return w[0] == '?' })
		}
		words = append(words, word)
	}
	job.crashes = words
	return taken
}
