import HoldfastServer
import WebSocketRuntime
import NIOCore

/// Counts the connections of plain HTTP, so that they always leave room for WebSockets, and those of one address for those of others.
final class GuestLimit: Sendable {
    /// A connection's place, taken until nobody holds it any more.
    final class Seat: Sendable {
        private let limit: GuestLimit
        private let address: String?

        fileprivate init(_ limit: GuestLimit, _ address: String?) { (self.limit, self.address) = (limit, address) }

        deinit { limit.leave(address) }
    }

    private let most: Int
    private let perAddress: Int
    private let guests = LockedValue<(count: Int, byAddress: [String: Int])>((0, [:]))

    /// At most so many in all, though always one, and so many of an address.
    init(most: Int, perAddress: Int) { (self.most, self.perAddress) = (max(most, 1), perAddress) }

    /// A seat for a connection; nil if there are too many.
    func seat(_ channel: any Channel) -> Seat? { seat(channel.remoteAddress?.network) }

    /// The same, for an address; a client of a Unix domain socket has none.
    func seat(_ address: String?) -> Seat? {
        let isFree = guests.withLockedValue { guests in
            guard guests.count < most, address.map({ guests.byAddress[$0, default: 0] < perAddress }) ?? true else { return false }
            guests.count += 1
            if let address { guests.byAddress[address, default: 0] += 1 }
            return true
        }
        return isFree ? Seat(self, address) : nil
    }

    private func leave(_ address: String?) {
        guests.withLockedValue { guests in
            guests.count -= 1
            guard let address else { return }
            let left = guests.byAddress[address, default: 1] - 1
            guests.byAddress[address] = left > 0 ? left : nil
        }
    }
}
