// Command lambda is the family as a Lambda function.
package main

import (
	"agentchat/functions/service"
	"agentchat/shared/lambdahost"
)

func main() { lambdahost.Start("service", service.New) }
