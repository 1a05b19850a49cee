import MachineCore

extension HubMachine {
    /// The rooms of each user and each address, whatever the number of connections in them.
    struct Holdings: Sendable {
        /// The number of connections in each room.
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

        /// Returns why a party may not join one more room; nil if it may.
        ///
        /// A room that it is in already is always allowed.
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

    /// A set of names with insertion and removal in constant time.
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

// "Identity": a device belongs to one user, in all rooms.
extension HubMachine {
    /// The owner of a device, as long as the device is in a room or has pending work there.
    ///
    /// After that, the data on disk tells the owner. Until then, all rooms take it from here, because each room asks the log on its own.
    struct Ownership: Sendable {
        /// The first user to whom the log did not object; nil: the log has not answered yet.
        var user: UserName?
        /// The number of rooms with the device.
        var rooms = 0
    }

    /// Adds a device to a room, unless it is there already.
    mutating func enroll(_ device: DeviceID, of user: UserName, in name: RoomName) {
        guard rooms[name] != nil, rooms[name]?.authors[device] == nil else { return }
        rooms[name]?.authors[device] = Author(user: user)
        ownerships[device, default: Ownership()].rooms += 1
    }

    /// Removes a device from a room if it has neither a connection nor pending work there.
    mutating func retireAuthor(_ device: DeviceID, in name: RoomName) {
        guard rooms[name]?.authors[device]?.isIdle == true else { return }
        rooms[name]?.authors[device] = nil
        hasRetired(device)
    }

    /// Records that a room has removed a device; all its publications in the room are on disk.
    mutating func hasRetired(_ device: DeviceID) {
        guard var ownership = ownerships.removeValue(forKey: device) else { return }
        ownership.rooms -= 1
        if ownership.rooms > 0 { ownerships[device] = ownership }
    }

    /// Returns whether a device belongs to another user.
    func isAnothers(_ device: DeviceID, than user: UserName) -> Bool {
        guard let owner = ownerships[device]?.user ?? owners[device] else { return false }
        return owner != user
    }

    /// Remembers a device's owner after the log has named it to another user.
    ///
    /// If that other user tries again, the hub refuses at once. A log request would lock the device in the room until the answer.
    mutating func remember(_ owner: UserName, of device: DeviceID, at now: Moment) {
        owners.add(owner, of: device, most: policy.owners)
        if !alarms.isSet(.forgetOwners) { alarms.set(.forgetOwners, at: now + policy.rememberOwners) }
    }

    mutating func forgetOwners(at now: Moment) {
        owners.age()
        if !owners.isEmpty { alarms.set(.forgetOwners, at: now + policy.rememberOwners) }
    }

    /// Device owners in two halves: the older half is dropped after its time, or when the younger half is full.
    struct NamedOwners: Sendable {
        private var younger: [DeviceID: UserName] = [:]
        private var older: [DeviceID: UserName] = [:]

        var isEmpty: Bool { younger.isEmpty && older.isEmpty }

        subscript(device: DeviceID) -> UserName? { younger[device] ?? older[device] }

        mutating func add(_ owner: UserName, of device: DeviceID, most: Int) {
            if younger.count >= most { age() }
            younger[device] = owner
        }

        mutating func age() { (younger, older) = ([:], younger) }
    }
}
