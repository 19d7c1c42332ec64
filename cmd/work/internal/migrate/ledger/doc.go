// Package ledger is what migrate keeps on the old side: the lane and the number of the last batch, and the batch that
// is under way. The scripts that fill a batch belong to those who know the layout of that side; see package migrate for
// the protocol.
package ledger
