package excerpt

import "fmt"

// Errors are several errors. errors.Is and errors.As look into all of them; the text has the first few.
type Errors []error

func (e Errors) Error() string {
	return Lines(len(e), Whole, func(i int) string { return e[i].Error() })
}

// Unwrap returns all of them.
func (e Errors) Unwrap() []error { return e }

// Join is errors.Join, with a text of bounded length: nil errors are left out, and of none there is none.
func Join(errs ...error) error {
	var all Errors
	for _, err := range errs {
		switch list, joined := err.(Errors); { // of a list that grows, so that it stays flat
		case err == nil:
		case joined:
			all = append(all, list...)
		default:
			all = append(all, err)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// Error is an error with a text of bounded length: the error itself where its text is short. errors.Is and errors.As
// look into it.
func Error(err error) (short error) {
	if err == nil {
		return nil
	}
	defer func() {
		if recover() != nil { // its own method panicked: whoever asks it again gets the same
			short = err
		}
	}()
	text := err.Error()
	if len(text) <= Whole {
		return err
	}
	return &long{err: err, text: Text(text, Whole)}
}

// long is an error whose text was cut.
type long struct {
	err  error
	text string
}

func (e *long) Error() string { return e.text }

func (e *long) Unwrap() error { return e.err }

// ErrorText is err.Error() of bounded length, whatever that method does; empty without an error.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	return Describe(err)
}

// Describe turns what was given to panic into a text of bounded length, whatever its methods do.
func Describe(value any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a %T whose text could not be had, since its own method panicked", value)
		}
	}()
	if err, ok := value.(error); ok {
		return Cut(err.Error())
	}
	return Cut(fmt.Sprint(value))
}
