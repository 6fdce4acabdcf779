// Command lambda is the family as a Lambda function.
package main

import (
	"agentchat/functions/messages"
	"agentchat/shared/lambdahost"
)

func main() { lambdahost.Start("messages", messages.New) }
