package inspect

import (
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// view reads and changes one partition of a namespace. An [Inspector] asks as many as there are, and merges what they
// say; what only one of them can know, as where a job is, it asks of each until one knows it.
type view struct {
	store     *rdb.Store
	partition int
	by        *partition.Map // that says so
}
