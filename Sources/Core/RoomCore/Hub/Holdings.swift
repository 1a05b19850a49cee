import MachineCore

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

// "Identity": a device is one user's, in all rooms.
extension HubMachine {
    /// Whose a device is, as long as it is in some room or has something under way there.
    ///
    /// What is on disk says it for all that comes later. Until then the rooms, which ask the log each on its own, have it from here.
    struct Ownership: Sendable {
        /// The first for whom the log had no objection; nil: it has not answered yet.
        var user: UserName?
        /// In how many rooms the device is.
        var rooms = 0
    }

    /// A device comes into a room, unless it is there already.
    mutating func enroll(_ device: DeviceID, of user: UserName, in name: RoomName) {
        guard rooms[name] != nil, rooms[name]?.authors[device] == nil else { return }
        rooms[name]?.authors[device] = Author(user: user)
        ownerships[device, default: Ownership()].rooms += 1
    }

    /// Forgets a device in a room, if it is neither there nor has anything under way.
    mutating func retireAuthor(_ device: DeviceID, in name: RoomName) {
        guard rooms[name]?.authors[device]?.isIdle == true else { return }
        rooms[name]?.authors[device] = nil
        hasRetired(device)
    }

    /// A room has forgotten a device: what it has published there is on disk.
    mutating func hasRetired(_ device: DeviceID) {
        guard var ownership = ownerships.removeValue(forKey: device) else { return }
        ownership.rooms -= 1
        if ownership.rooms > 0 { ownerships[device] = ownership }
    }

    /// Whether somebody else has a device in some room.
    func isAnothers(_ device: DeviceID, than user: UserName) -> Bool {
        guard let owner = ownerships[device]?.user ?? owners[device] else { return false }
        return owner != user
    }

    /// The log has named a device's owner to somebody else.
    ///
    /// Coming again, that one is refused at once: while the log is asked, nobody else can use the device in the room.
    mutating func remember(_ owner: UserName, of device: DeviceID, at now: Moment) {
        owners.add(owner, of: device, most: policy.owners)
        if !alarms.isSet(.forgetOwners) { alarms.set(.forgetOwners, at: now + policy.rememberOwners) }
    }

    mutating func forgetOwners(at now: Moment) {
        owners.age()
        if !owners.isEmpty { alarms.set(.forgetOwners, at: now + policy.rememberOwners) }
    }

    /// Owners of devices in two halves: the older one goes when its time has come, or the younger one is full.
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
