package rdb_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/265d0351/work/internal/rdb"
)

// withDetails are an outcome and details, as they go together.
func withDetails(state, queue, element string) (outcome, details []byte) {
	return fmt.Appendf(nil, `{"state":%q,"name":%q,"ended":1,"result":"of %s"}`, state, queue, element),
		fmt.Appendf(nil, "%s as %s", element, state)
}

// remember keeps details like remember of lua/prelude.lua; in the model there are never too many.
func (m *model) remember(state, queue, id string, details []byte) {
	if details == nil {
		return
	}
	shelf := state + ":" + queue
	if m.past[shelf] == nil {
		m.past[shelf] = map[string]string{}
	}
	m.past[shelf][id] = string(details)
}

var namesShelf = regexp.MustCompile(`^{"state":"(\w+)","name":"(\w+)"`)

// detailsOf is what is kept of a job beside its outcome.
func (m *model) detailsOf(id string) []byte {
	if names := namesShelf.FindStringSubmatch(m.outcomes[id].text); names != nil {
		return bytesOrNil(m.past[names[1]+":"+names[2]][id])
	}
	return nil
}

// forgetOutcome removes what is kept of a job whose outcome goes, as far as that says where it is.
func (m *model) forgetOutcome(id string) {
	if names := namesShelf.FindStringSubmatch(m.outcomes[id].text); names != nil {
		delete(m.past[names[1]+":"+names[2]], id)
	}
	delete(m.outcomes, id)
}

func (m *machine) expectPast(put func(string, map[string]string)) {
	for shelf, kept := range m.past {
		if len(kept) == 0 {
			continue
		}
		ids, texts, bytes := map[string]string{}, map[string]string{}, 0
		for id, text := range kept {
			ids[id], texts[id] = "", text
			bytes += len(text)
		}
		texts[""] = strconv.Itoa(bytes)
		put("ended:"+shelf, ids)
		put("details:"+shelf, texts)
	}
}

// sweep removes the outcomes that are not to be kept any longer, but for those whose shelf is not named.
func (m *model) sweep(now int64, named []string) (swept rdb.Expired) {
	for id, o := range m.outcomes {
		if o.until > now {
			continue
		}
		beginning := namesShelf.FindString(o.text)
		switch {
		case beginning == "" || slices.Contains(named, beginning):
			m.forgetOutcome(id)
			swept.Removed++
		case !slices.Contains(swept.Unknown, beginning):
			swept.Unknown = append(swept.Unknown, beginning)
		}
	}
	slices.Sort(swept.Unknown)
	return swept
}
