package unique

import "reflect"

// Args are the types of the args that jobs of one name have.
type Args struct {
	types []reflect.Type
	more  bool // any number more may follow
}

// NewArgs are those of a handler with these parameters.
func NewArgs(types []reflect.Type, more bool) Args { return Args{types, more} }

// ArgsOf is one arg of type A.
func ArgsOf[A any]() Args { return Args{types: []reflect.Type{reflect.TypeFor[A]()}} }

// Fields are those of each arg that are tagged; nil where there are none. The error says which tag is wrong.
func (a Args) Fields() ([][]string, error) {
	fields, found := make([][]string, len(a.types)), false
	for i, t := range a.types {
		names, err := fieldsIn(t)
		if err != nil {
			return nil, err
		}
		fields[i], found = names, found || len(names) > 0
	}
	if !found {
		return nil, nil
	}
	return fields, nil
}
