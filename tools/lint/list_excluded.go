package main

// excludedChecks are the checks of honnef.co/go/tools that do not run. Its package quickfix is left out as a whole: it
// suggests edits to an editor and finds no mistakes.
var excludedChecks = map[string]string{
	"ST1023": "a redundant type often tells the reader what the value is",
}

// excludedPasses are the packages of golang.org/x/tools/go/analysis/passes that do not run here.
var excludedPasses = map[string]string{
	"appends": byVet, "asmdecl": byVet, "assign": byVet, "atomic": byVet, "bools": byVet, "buildtag": byVet,
	"cgocall": byVet, "composite": byVet, "copylock": byVet, "defers": byVet, "directive": byVet, "errorsas": byVet,
	"framepointer": byVet, "hostport": byVet, "httpresponse": byVet, "ifaceassert": byVet, "loopclosure": byVet,
	"lostcancel": byVet, "nilfunc": byVet, "printf": byVet, "shift": byVet, "sigchanyzer": byVet, "slog": byVet,
	"stdmethods": byVet, "stdversion": byVet, "stringintconv": byVet, "structtag": byVet, "testinggoroutine": byVet,
	"tests": byVet, "timeformat": byVet, "unmarshal": byVet, "unreachable": byVet, "unsafeptr": byVet,
	"unusedresult": byVet, "waitgroup": byVet,

	"buildssa": building, "ctrlflow": building, "inspect": building, "pkgfact": building, "usesgenerics": building,

	"fieldalignment": "fields stand in the order in which they are read",
	"findcall":       "a demonstration: it reports calls of a function named by a flag",
	"gofix":          "checks //go:fix directives, of which there are none",
	"httpmux":        "for programs that move to Go 1.22; this one starts later",
	"inline":         "rewrites calls of functions marked //go:fix, of which there are none",
	"shadow":         "most of what it reports is err in an if, which is meant",
}

const (
	byVet    = "go vet runs it"
	building = "finds nothing itself: others build on it"
)

// excludedModern are the analyzers of the package modernize that do not run.
var excludedModern = map[string]string{
	"appendclipped":  "turns a nil slice into an empty one",
	"bloop":          "changes what a benchmark measures",
	"embedlit":       "naming the embedded type in a literal is the clearer form",
	"errorsastype":   "errors.As reads as well, and is what examples outside show",
	"fmtappendf":     "the shorter line is the harder one",
	"newexpr":        "new(value) is still a surprise to most readers",
	"slicesdelete":   "zeroes what append would leave",
	"stringsseq":     "the slice is as clear where speed does not count",
	"importcomment":  notExported,
	"slicesbackward": notExported, "slicesclip": notExported, "reflecttypeassert": notExported,
	"unsafefuncs": notExported,
}

const notExported = "the library does not export it apart from its suite"
