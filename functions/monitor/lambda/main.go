// Command lambda is the family as a Lambda function.
package main

import (
	"agentchat/functions/monitor"
	"agentchat/shared/lambdahost"
)

func main() { lambdahost.Start("monitor", monitor.New) }
