package s2stream

// Delays lets the external tests see the pauses between tries, which they could
// only wait for otherwise.
var Delays = delays

// Pause is the one between two sweeps.
var Pause = pause
