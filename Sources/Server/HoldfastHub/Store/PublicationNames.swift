import Crypto
import MachineCore
import RoomCore
import RoomsStorage

/// Derives the devices under which the hub stores publications that programs gave their own IDs.
///
/// A client chooses its device and may guess an ID. So the device is derived from the ID with a key that only the log knows. The devices
/// are separate for each program and each user.
struct PublicationNames: Sendable {
    /// The length of a key in bytes.
    static let keyLength = 32
    /// The length of the common prefix of these devices in bytes.
    static let prefixLength = 6

    private let key: SymmetricKey
    /// The common prefix of these devices, by which the log distinguishes them from clients' devices; each log has its own.
    let prefix: [UInt8]

    init(key bytes: [UInt8]) {
        key = SymmetricKey(data: bytes)
        prefix = Array(HMAC<SHA256>.authenticationCode(for: Array("prefix".utf8), using: key).prefix(Self.prefixLength))
    }

    /// Creates names with a new random key.
    static func drawn() -> PublicationNames { PublicationNames(key: drawnKey()) }

    static func drawnKey() -> [UInt8] {
        var chance = SystemRandomNumberGenerator()
        return (0..<keyLength).map { _ in UInt8.random(in: 0...255, using: &chance) }
    }

    /// Returns the device of an ID.
    ///
    /// - Parameter program: The API key of the program; nil: the program that contains the hub.
    func device(for name: MessageID, of user: UserName, program: String?) -> DeviceID {
        var hash = HMAC<SHA256>(key: key)
        // Each part ends before the next begins, because no part contains a zero byte.
        for part in ["device", program ?? "", user.text] { hash.update(data: Array(part.utf8) + [0]) }
        hash.update(data: Array(name.bits.digits.utf8))
        let bytes = prefix + Array(hash.finalize()).prefix(16 - Self.prefixLength)
        func number(_ part: ArraySlice<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
        return DeviceID(Bits128(high: number(bytes[..<8]), low: number(bytes[8...])))
    }
}

extension LogSchema {
    /// Returns the key for the devices of named publications: drawn once, and stored with the log.
    ///
    /// If the disk is full when the key is created, the hub still works, and uses the key until it stops.
    static func namesKey(_ connection: SQLiteConnection) throws(SQLiteFailure) -> [UInt8] {
        if let key = try storedKey("names", connection), key.count == PublicationNames.keyLength { return key }
        let key = PublicationNames.drawnKey()
        _ = try store(key, "names", connection)
        return key
    }

    /// Returns the key for the proofs of cursors: drawn once, and stored with the log.
    ///
    /// If there is none and the disk is full, cursors get no proofs.
    static func proofKey(_ connection: SQLiteConnection) throws(SQLiteFailure) -> ProofKey? {
        if let bits = try storedKey("proofs", connection).flatMap({ $0.withUnsafeBytes(StoredEntry.bits) }) { return ProofKey(bits) }
        var chance = SystemRandomNumberGenerator()
        let bits = Bits128(high: chance.next(), low: chance.next())
        return try store(StoredEntry.bytes(of: bits), "proofs", connection) ? ProofKey(bits) : nil
    }

    /// Stores a key; returns whether it is on disk.
    private static func store(_ key: [UInt8], _ name: String, _ connection: SQLiteConnection) throws(SQLiteFailure) -> Bool {
        let stored: Void? = try? connection.run(
            """
            BEGIN IMMEDIATE;
            CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
            INSERT OR REPLACE INTO secrets VALUES ('\(name)', x'\(Hexadecimal.text(key))');
            COMMIT;
            """)
        if !connection.isIdle { try connection.run("ROLLBACK") }
        return stored != nil
    }

    private static func storedKey(_ name: String, _ connection: SQLiteConnection) throws(SQLiteFailure) -> [UInt8]? {
        guard try connection.number("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'secrets'") == 1 else { return nil }
        return try connection.prepare("SELECT value FROM secrets WHERE name = '\(name)'").first { Array($0.bytes(0)) }
    }
}
