// Command lambda is the family as a Lambda function.
package main

import (
	"agentchat/functions/chats"
	"agentchat/shared/lambdahost"
)

func main() { lambdahost.Start("chats", chats.New) }
