package partition

import "time"

// SetPatience makes a look at the maps wait so long for those that do not answer.
func (d *Directory) SetPatience(patience time.Duration) { d.patience = patience }
