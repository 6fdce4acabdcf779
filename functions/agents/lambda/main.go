// Command lambda is the family as a Lambda function.
package main

import (
	"agentchat/functions/agents"
	"agentchat/shared/lambdahost"
)

func main() { lambdahost.Start("agents", agents.New) }
