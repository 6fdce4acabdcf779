package serve

// Bound is Mux with routes that are not in the table: what the seam has room for
// is tested before an operation needs it.
var Bound = bound
