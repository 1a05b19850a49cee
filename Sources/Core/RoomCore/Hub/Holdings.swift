extension HubMachine {
    /// In how many rooms each user and each address is, whatever the number of its connections there.
    struct Holdings: Sendable {
        /// How many connections of a party are in each room.
        private var users: [UserName: [RoomName: Int]] = [:]
        private var addresses: [String: [RoomName: Int]] = [:]

        var isEmpty: Bool { users.isEmpty && addresses.isEmpty }

        mutating func add(_ room: RoomName, user: UserName, address: String) {
            users[user, default: [:]][room, default: 0] += 1
            addresses[address, default: [:]][room, default: 0] += 1
        }

        mutating func remove(_ room: RoomName, user: UserName, address: String) {
            Self.take(room, from: &users[user])
            Self.take(room, from: &addresses[address])
        }

        /// Why a party may not be in one more room, if so; where it is already it may come again.
        func excess(_ room: RoomName, user: UserName, address: String, policy: HubPolicy) -> String? {
            let (own, near) = (users[user], addresses[address])
            if let own, own.count >= policy.user.rooms, own[room] == nil { return "too many rooms of this user" }
            if let near, near.count >= policy.address.rooms, near[room] == nil { return "too many rooms of this address" }
            return nil
        }

        private static func take(_ room: RoomName, from rooms: inout [RoomName: Int]?) {
            guard let count = rooms?[room] else { return }
            rooms?[room] = count > 1 ? count - 1 : nil
            if rooms?.isEmpty == true { rooms = nil }
        }
    }

    /// Names that are put in and taken out one by one, in constant time.
    struct Pool: Sendable {
        private var names: [RoomName] = []
        private var places: [RoomName: Int] = [:]

        var isEmpty: Bool { names.isEmpty }
        var first: RoomName? { names.first }

        mutating func insert(_ name: RoomName) {
            guard places[name] == nil else { return }
            places[name] = names.count
            names.append(name)
        }

        mutating func remove(_ name: RoomName) {
            guard let place = places.removeValue(forKey: name) else { return }
            let last = names.removeLast()
            guard place < names.count else { return }
            names[place] = last
            places[last] = place
        }
    }
}
