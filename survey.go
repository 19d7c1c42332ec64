package work

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/subscription"
)

// surveyAgain has the fetcher ask about all names: something has failed, and who answers now may not be the one of
// before.
func (w *worker) surveyAgain() {
	if w.queues.surveys.Mistrust() {
		w.callFetcher()
	}
}

// remindOfSurvey has a fetcher look up that waits for something else while names are to be asked about.
func (w *worker) remindOfSurvey() {
	if w.queues.surveys.Due() {
		w.callFetcher()
	}
}

// callFetcher has the fetcher look up, whatever it waits for.
func (w *worker) callFetcher() {
	w.queues.wakeup.Wake()
	w.slots.Signal()
}

// hasNews tells whether the fetcher has something to look into, even if it may not fetch.
func (f *fetcher) hasNews() bool { return f.listing.HasNews() || f.surveys.Due() }

// survey finds out what Redis thinks this worker holds, where there is reason to, and gives back what it does not hold.
// No fetch that was sent before can land after it.
func (f *fetcher) survey() (err error) {
	surveys, c := f.surveys, f.worker.session()
	if err := f.worker.mend(c); err != nil {
		return err
	}
	due := surveys.Next()
	switch due {
	case subscription.NoSurvey:
		return nil
	case subscription.SurveyOfAll:
		err = f.surveyAll()
	case subscription.SurveyOfTouched:
		names := f.worker.session().queues()
		surveys.Touched(names)
		err = f.surveyNames(slices.Collect(maps.Keys(names)))
	case subscription.SurveyOfPart:
		err = f.surveyNames(surveys.Part(f.listing.Listed))
	}
	surveys.Done(due, err)
	if due == subscription.SurveyOfAll && err == nil {
		f.worker.tellLoss(c)
	}
	for queue := range f.refused {
		surveys.Touch(queue)
	}
	return err
}

// surveyAll asks about all names that this worker serves, and those that Redis lists for it.
func (f *fetcher) surveyAll() error {
	w, c := f.worker, f.worker.session()
	names := c.queues()
	f.surveys.Touched(names)
	for _, name := range f.listing.Listed() {
		names[name] = true
	}
	if err := f.surveyNames(slices.Collect(maps.Keys(names))); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(w.life, fetchTimeout)
	defer cancel()
	listed, err := c.rdb.Queues(ctx)
	if err != nil {
		return err
	}
	more := slices.DeleteFunc(slices.Clone(listed), func(name string) bool { return names[name] })
	if len(more) > 0 {
		if err := f.surveyNames(more); err != nil {
			return err
		}
	}
	f.listing.Correct(c.rdb.ID, listed)
	return nil
}

// surveyNames asks about names, in steps, and gives back what is claimed of them and not held.
func (f *fetcher) surveyNames(names []string) error {
	c := f.worker.session()
	for at := 0; at == 0 || at < len(names); at += rdb.MaxBatch {
		if err := f.surveySome(c, names[at:min(len(names), at+rdb.MaxBatch)]); err != nil {
			return err
		}
	}
	return nil
}

// surveySome asks what Redis holds as claimed by this worker in some queues, and gives back what the worker does not
// have: the reply to the fetch that claimed it was lost, or, where that was answered, Redis has forgotten an outcome
// that it had acknowledged. The number of the survey is of the series of the fetches, so a
// fetch that was sent before can claim nothing any more. Only the fetcher calls it.
func (f *fetcher) surveySome(c *session, queues []string) error {
	ctx, cancel := context.WithTimeout(f.worker.life, fetchTimeout)
	defer cancel()
	state, claims, err := c.rdb.Survey(ctx, c.nextNumber(), queues)
	if err != nil {
		f.worker.surveyAgain()
		return err
	}
	switch state {
	case rdb.Fenced:
		return errNotRegistered
	case rdb.Stale:
		c.number += 1 << 32
		return errors.New("the number of a survey was not new to Redis")
	case rdb.Rewound:
		return f.mendFirst(c, func() error { return f.surveySome(c, queues) })
	}
	unheld, ended := map[string][]string{}, map[string][]string{}
	for _, claim := range claims {
		if c.holds(claim.Element) {
			continue
		}
		of := unheld
		if c.book.Answered(claim.Number()) {
			of = ended
		}
		of[claim.Queue] = append(of[claim.Queue], claim.Element)
	}
	_, refused, err := f.worker.requeueUnheld(ctx, c, unheld)
	outcomes, others, failed := f.worker.requeueUnheld(ctx, c, ended)
	if c.book.Returned(outcomes, len(c.runs())) {
		f.worker.loseFaith()
	}
	if refused == nil {
		refused = others
	}
	maps.Copy(refused, others)
	f.noteRefused(queues, refused)
	return excerpt.Join(err, failed)
}

// mendFirst makes Redis know again what this worker holds, and then does again what was refused because it does not.
func (f *fetcher) mendFirst(c *session, then func() error) error {
	f.worker.noteFellBack(c)
	if err := f.worker.mend(c); err != nil {
		return err
	}
	return then()
}

// noteRefused notes of which of these queues Redis refused to take claims back. That is told, and tried again with the
// surveys to come; the other queues go on.
func (f *fetcher) noteRefused(queues []string, refused map[string]error) {
	for _, queue := range queues {
		delete(f.refused, queue)
	}
	maps.Copy(f.refused, refused)
	for _, err := range f.refused {
		f.refusals.Report(err)
		return
	}
	f.refusals.Report(nil)
}
