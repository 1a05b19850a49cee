extension HubMachine {
    /// Names that take turns, each once; in constant time, but for what was taken out.
    struct Turns<Name: Hashable & Sendable>: Sendable {
        private var names: [Name] = []
        private var first = 0
        /// Those of the names that still count.
        private var present: Set<Name> = []

        var isEmpty: Bool { present.isEmpty }

        /// Puts a name last, unless its turn is to come already.
        mutating func append(_ name: Name) {
            guard present.insert(name).inserted else { return }
            names.append(name)
            guard names.count - first > 2 * present.count + 32 else { return }
            var kept: Set<Name> = []
            names = names[first...].filter { present.contains($0) && kept.insert($0).inserted }
            first = 0
        }

        mutating func remove(_ name: Name) { present.remove(name) }

        mutating func popFirst() -> Name? {
            while first < names.count {
                let name = names[first]
                first += 1
                if first > 32, first * 2 > names.count {
                    names.removeFirst(first)
                    first = 0
                }
                if present.remove(name) != nil { return name }
            }
            (names, first) = ([], 0)
            return nil
        }
    }

    /// Pages that are to be read from the log.
    ///
    /// A frame of 70 bytes asks for half a megabyte. So users take turns, and the connections of a user; what is read at once has a bound in
    /// bytes, in all; and nothing is read for a connection that has not yet taken what it was told before.
    struct ReadQueue: Sendable {
        struct Read: Sendable {
            var number: Int64
            var order: LogOrder
            /// How many bytes it may bring.
            var bytes: Int64
        }
        private struct Reader: Sendable {
            let user: UserName
            var line: [Read] = []
            var underWay = 0
            var isHeld = false
        }
        private var readers: [ConnectionID: Reader] = [:]
        private var connections: [UserName: Turns<ConnectionID>] = [:]
        private var users = Turns<UserName>()
        private var underWay: [Int64: (connection: ConnectionID, bytes: Int64)] = [:]
        /// Bytes that the reads under way may bring.
        private(set) var bytes: Int64 = 0

        var isEmpty: Bool { readers.isEmpty && connections.isEmpty && users.isEmpty && underWay.isEmpty && bytes == 0 }

        mutating func add(_ read: Read, for id: ConnectionID, of user: UserName, isCongested: Bool) {
            readers[id, default: Reader(user: user, isHeld: isCongested)].line.append(read)
            queue(id)
        }

        /// Reads nothing more for a connection, until it is released.
        mutating func hold(_ id: ConnectionID) {
            guard readers[id] != nil else { return }
            readers[id]?.isHeld = true
            unqueue(id)
        }

        mutating func release(_ id: ConnectionID) {
            readers[id]?.isHeld = false
            queue(id)
        }

        /// A connection has ended: the reads for it that will not be made.
        mutating func drop(_ id: ConnectionID) -> [Int64] {
            guard let reader = readers[id] else { return [] }
            unqueue(id)
            readers[id] = nil
            return reader.line.map(\.number)
        }

        /// The log has answered; what it was asked beside these reads changes nothing.
        mutating func answered(_ number: Int64) {
            guard let (id, size) = underWay.removeValue(forKey: number) else { return }
            bytes -= size
            readers[id]?.underWay -= 1
            guard let reader = readers[id] else { return }
            if reader.underWay == 0, reader.line.isEmpty { readers[id] = nil } else { queue(id) }
        }

        /// The read whose turn it is, if one may begin; it is under way from now on.
        ///
        /// - Parameters:
        ///   - most: No more begin once those under way may bring so many bytes.
        ///   - each: So many are under way for one connection at most.
        mutating func next(within most: Int64, each: Int) -> Read? {
            while bytes < most, let user = users.popFirst() {
                guard let id = connections[user]?.popFirst() else { continue }
                if connections[user]?.isEmpty == false { users.append(user) } else { connections[user] = nil }
                guard let reader = readers[id], !reader.line.isEmpty else { continue }
                // Its turn comes again when a read for it is answered.
                guard reader.underWay < each else { continue }
                let read = reader.line[0]
                readers[id]?.line.removeFirst()
                readers[id]?.underWay += 1
                underWay[read.number] = (id, read.bytes)
                bytes += read.bytes
                queue(id)
                return read
            }
            return nil
        }

        private mutating func queue(_ id: ConnectionID) {
            guard let reader = readers[id], !reader.isHeld, !reader.line.isEmpty else { return }
            connections[reader.user, default: Turns()].append(id)
            users.append(reader.user)
        }

        private mutating func unqueue(_ id: ConnectionID) {
            guard let user = readers[id]?.user else { return }
            connections[user]?.remove(id)
            guard connections[user]?.isEmpty == true else { return }
            connections[user] = nil
            users.remove(user)
        }
    }
}
