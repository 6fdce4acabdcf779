package route

import "slices"

// Table lists the operations, sorted by Op; each family's, or a few families', are in
// a file of their own.
var Table = slices.Concat(agentRoutes, chatRoutes, contactRoutes, messageRoutes, serviceRoutes)
