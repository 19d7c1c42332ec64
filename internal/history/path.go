package history

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dataFiles are the endings of files that jobs are about. Those of source code are not among them: where a program
// failed is a part of the cause.
var dataFiles = strings.Fields(`7z avi avro bak bin bmp bz2 conf csv dat db doc docx eml epub gif gz heic html ics ini
	jpeg jpg json jsonl log m4a md mkv mov mp3 mp4 ndjson odp ods odt ogg orc parquet pdf pem png ppt pptx psd rar rtf
	sql sqlite svg tar tgz tiff tmp toml tsv txt wav webm webp xls xlsx xml xz yaml yml zip zst`)

// sources are the endings of source code.
var sources = strings.Fields(`c cc cpp cs ex go java js kt lua php pl py rb rs s scala sh swift ts`)

// roots are the top folders of paths that are no addresses of a web service, such as /users/12, and where paths begin
// that are told from where a program is, or from a home.
var roots = strings.Fields(`data dev etc home media mnt opt private proc root run srv tmp usr var Users Volumes . .. ~`)

// pathKind returns what stands for a path or the name of a file that the text begins with, and how long that is; 0
// where it begins with neither. The ending stays: one cannot read a CSV file for another reason than an image.
func pathKind(text string) (kind string, n int) {
	drive := len(text) > 3 && isLetter(text[0]) && text[1] == ':' && (text[2] == '\\' || text[2] == '/') &&
		text[3] != '/'
	if drive {
		n = 2
	}
	n += strings.IndexFunc(text[n:]+" ", func(r rune) bool { return !isPathRune(r) })
	path := strings.TrimRight(text[:n], ".-+")
	n = len(path)
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	dot := strings.LastIndexByte(name, '.')
	switch ending := strings.ToLower(name[dot+1:]); {
	case dot > 0 && slices.Contains(dataFiles, ending):
		return "#." + withoutDigits(ending), n
	case dot > 0 && slices.Contains(sources, ending):
		return "", 0
	case drive, isRooted(path):
		return "#", n
	}
	return "", 0
}

// isRooted tells whether something stands behind one of the roots in a path.
func isRooted(path string) bool {
	root, rest, is := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	relative := root == "." || root == ".." || root == "~"
	return is && rest != "" && slices.Contains(roots, root) && relative != strings.HasPrefix(path, "/")
}

// isPathRune tells whether it may be in a path that nobody has put in quotes.
func isPathRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isWordByte(byte(r)) || strings.ContainsRune(`/\._-~+@%=`, r)
	}
	return r != utf8.RuneError && unicode.IsLetter(r)
}

func isLetter(c byte) bool { return isWordByte(c) && !isDigit(c) }

// withoutDigits has one "#" for each row of digits.
func withoutDigits(text string) string {
	kind := make([]byte, 0, len(text))
	for i := range len(text) {
		switch {
		case !isDigit(text[i]):
			kind = append(kind, text[i])
		case i == 0 || !isDigit(text[i-1]):
			kind = append(kind, '#')
		}
	}
	return string(kind)
}
