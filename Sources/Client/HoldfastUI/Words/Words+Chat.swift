#if Rooms
    import HoldfastRooms

    extension Words {
        /// What has become of an own message.
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

        /// How a chat stands with its hub; a reason is told as the hub gave it.
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
