import MachineCore

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
