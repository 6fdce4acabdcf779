// Command lambda is the family as a Lambda function.
package main

import (
	"agentchat/functions/contacts"
	"agentchat/shared/lambdahost"
)

func main() { lambdahost.Start("contacts", contacts.New) }
