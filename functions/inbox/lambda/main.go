// Command lambda is the family as a Lambda function.
package main

import (
	"agentchat/functions/inbox"
	"agentchat/shared/lambdahost"
)

func main() { lambdahost.Start("inbox", inbox.New) }
