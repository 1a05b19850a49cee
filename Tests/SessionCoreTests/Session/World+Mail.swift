import MachineCore
import SessionCore

extension World {
    /// The messages of the app, and the answers of connections.
    struct Mail {
        var last: UInt64 = 0
        /// The message that was handed to a connection and has no answer yet.
        var handedOver: (id: UInt64, generation: UInt64)?
        /// The messages that connections took, in order.
        var taken: [UInt64] = []
        var faults: [String] = []
    }

    /// The app sends messages, or withdraws a recent one.
    mutating func sendMail(at now: Moment, into effects: inout [Session.Input]) {
        guard now < failuresUntil else { return }
        if chance(4), mail.last > 0 {
            effects.append(.withdraw(UInt64.random(in: max(mail.last, 20) - 19...max(mail.last, 20), using: &random)))
        }
        for _ in 0..<(chance(4) ? Int.random(in: 1...30, using: &random) : 1) {
            mail.last += 1
            let patience: Duration? = chance(3) ? (chance(4) ? .zero : duration(0.1...100)) : nil
            let size = chance(20) ? 5000 : Int.random(in: 0...200, using: &random)
            effects.append(.submit(id: mail.last, lane: Self.lane(of: mail.last), byteCount: size, patience: patience))
        }
        plan(.mail, after: chance(4) ? duration(0.001...0.1) : duration(1...600), at: now)
    }

    static func lane(of id: UInt64) -> Lane { Lane.allCases[Int(id * 7 % 5 % 3)] }

    mutating func carry(_ id: UInt64, over generation: UInt64, at now: Moment) {
        if mail.handedOver != nil { mail.faults.append("two messages are handed over at once") }
        mail.handedOver = (id, generation)
        guard let link = links[generation], link.isOpen, !link.isClosing else {
            return plan(.handOver(id, isTaken: false), after: .zero, at: now)
        }
        // A peer that does not read delays the message until the connection ends or the message is recalled.
        if link.isHalfOpen, chance(2) { return }
        plan(.handOver(id, isTaken: true), after: chance(10) ? duration(0.1...60) : duration(0...0.005), at: now)
    }

    /// A recall may arrive too late.
    mutating func recall(_ id: UInt64, at now: Moment) {
        guard mail.handedOver?.id == id else { return }
        plan(.handOver(id, isTaken: chance(2)), after: duration(0...0.01), at: now)
    }

    mutating func answerInTime(_ generation: UInt64, at now: Moment) {
        guard let (id, holder) = mail.handedOver, holder == generation else { return }
        plan(.handOver(id, isTaken: chance(2)), after: duration(0...0.2), at: now)
    }

    mutating func answerNow(_ generation: UInt64, into effects: inout [Session.Input]) {
        guard let (id, holder) = mail.handedOver, holder == generation else { return }
        answer(id, isTaken: chance(2), into: &effects)
    }

    /// Only the first answer counts.
    ///
    /// A connection that refused a message drains later.
    mutating func answer(_ id: UInt64, isTaken: Bool, into effects: inout [Session.Input]) {
        guard let (held, generation) = mail.handedOver, held == id else { return }
        mail.handedOver = nil
        if isTaken {
            mail.taken.append(id)
            effects.append(.taken(id))
        } else {
            effects.append(.blocked(id))
            if links[generation]?.isOpen == true { effects.append(.room) }
        }
    }
}
