extension SendQueue {
    /// Pushes out what must give way to a newcomer.
    ///
    /// Returns why there is no room for it; then nothing was pushed out in vain.
    mutating func makeRoom(for newcomer: WaitingSends.Send, into effects: inout [Effect]) -> SendRefusal? {
        guard policy.whileDisconnected == .queue else { return nil }
        let one = SendVolume(count: 1, bytes: newcomer.byteCount)
        guard one.fits(in: policy.capacity) else { return .tooLarge }
        let lanes = lanesGivingWay(to: newcomer.lane)
        guard (depth + one - volumeGivingWay(in: lanes)).fits(in: policy.capacity) else { return .overflow }
        while !(depth + one).fits(in: policy.capacity), let id = nextGivingWay(in: lanes) {
            remove(id)
            refuse(id, .dropped, into: &effects)
        }
        return nil
    }

    /// The lowest first.
    private func lanesGivingWay(to lane: Lane) -> [Lane] {
        switch policy.overflow {
        case .dropOldest: Lane.allCases.filter { $0 <= lane }
        case .dropNewest: Lane.allCases.filter { $0 < lane }
        case .refuse: []
        }
    }

    private func volumeGivingWay(in lanes: [Lane]) -> SendVolume {
        var volume = lanes.reduce(SendVolume()) { $0 + waiting.volume(of: $1) }
        if let id = handedOver, let send = waiting[id], lanes.contains(send.lane) {
            volume -= SendVolume(count: 1, bytes: send.byteCount)
        }
        return volume
    }

    private func nextGivingWay(in lanes: [Lane]) -> UInt64? {
        for lane in lanes {
            let isOldest = policy.overflow == .dropOldest
            let id = isOldest ? waiting.oldest(of: lane, except: handedOver) : waiting.newest(of: lane, except: handedOver)
            if let id { return id }
        }
        return nil
    }
}
