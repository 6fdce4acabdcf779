// Command lambda is the family as a Lambda function.
package main

import (
	"agentchat/functions/receipts"
	"agentchat/shared/lambdahost"
)

func main() { lambdahost.Start("receipts", receipts.New) }
