package api

import "agentchat/shared/ident"

// A ReceiptStatus is what became of a message.
type ReceiptStatus string

// The statuses of Agent Chat v1 (Receipts).
const (
	ReceiptDelivered ReceiptStatus = "delivered"
	ReceiptProcessed ReceiptStatus = "processed"
	ReceiptRead      ReceiptStatus = "read"
	ReceiptRejected  ReceiptStatus = "rejected"
)

// ReceiptStatuses returns every status.
func ReceiptStatuses() []ReceiptStatus {
	return []ReceiptStatus{ReceiptDelivered, ReceiptProcessed, ReceiptRead, ReceiptRejected}
}

// A Receipt says what became of a message that its sender, who is told, had sent.
type Receipt struct {
	MessageID ident.Message `json:"message_id" doc:"The message."`
	Status    ReceiptStatus `json:"status" doc:"What became of it."`
	Detail    string        `json:"detail,omitempty" doc:"At most 4 KiB of UTF-8."`
}

// SendReceiptRequest tells the sender of a received message what became of it.
type SendReceiptRequest struct {
	Heading
	MessageID ident.Message `json:"message_id" doc:"A message in the inbox of who sends the receipt."`
	Status    ReceiptStatus `json:"status" doc:"What became of it."`
	Detail    string        `json:"detail,omitempty" doc:"At most 4 KiB of UTF-8."`
	SeqNum    *uint64       `json:"seq_num,omitempty" doc:"The message's position in that inbox, if it is known: one record is read."`
}
