#if Rooms
    import HoldfastRooms

    extension Words {
        /// Returns the text for the delivery state of an own message.
        func label(_ delivery: ChatDelivery) -> String {
            switch delivery {
            case .queued: self(.queued)
            case .sent: self(.sent)
            case .stored: self(.stored)
            case .seen(1): self(.seenByOne)
            case .seen(let count): self(.seenByMany, "\(count)")
            case .failed(let reason): self(.notSent, reason)
            }
        }

        /// Returns the text for a chat's connection to its hub; a close reason is shown as the hub sent it.
        func label(_ connection: ChatConnection) -> String {
            switch connection {
            case .connecting: self(.connecting)
            case .live: self(.connected)
            case .offline: self(.offlineMessagesWait)
            case .closed(let reason): reason ?? self(.closed)
            }
        }
    }
#endif
