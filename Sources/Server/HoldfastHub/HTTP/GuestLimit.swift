import NIOConcurrencyHelpers
import NIOCore

/// Counts the connections of plain HTTP, so that they always leave room for WebSockets, and those of one address for those of others.
final class GuestLimit: Sendable {
    private let most: Int
    private let perAddress: Int
    private let guests = NIOLockedValueBox<(count: Int, byAddress: [String: Int])>((0, [:]))

    /// At most so many in all, though always one, and so many of an address.
    init(most: Int, perAddress: Int) { (self.most, self.perAddress) = (max(most, 1), perAddress) }

    /// Counts a connection until it ends; false if there are too many.
    func admit(_ channel: any Channel) -> Bool {
        let address = Caller.network(of: channel.remoteAddress?.ipAddress ?? "")
        guard admit(address) else { return false }
        channel.closeFuture.whenComplete { _ in self.leave(address) }
        return true
    }

    func admit(_ address: String) -> Bool {
        guests.withLockedValue { guests in
            guard guests.count < most, guests.byAddress[address, default: 0] < perAddress else { return false }
            guests.count += 1
            guests.byAddress[address, default: 0] += 1
            return true
        }
    }

    func leave(_ address: String) {
        guests.withLockedValue { guests in
            guests.count -= 1
            let left = guests.byAddress[address, default: 1] - 1
            guests.byAddress[address] = left > 0 ? left : nil
        }
    }
}
