/// Argon2id, version 1.3 (RFC 9106), with one lane and 32 bytes as its result: this library has none, an app brings one.
///
/// Libsodium, libargon2 and others have it. It is only needed for routers that keep passwords so.
public struct Argon2id: Sendable {
    /// The hash of a password with a salt, after so many iterations over so many KiB of memory.
    public typealias Hash = @Sendable (_ password: [UInt8], _ salt: [UInt8], _ iterations: Int, _ memory: Int) throws -> [UInt8]

    let hash: Hash

    /// Argon2id as this function has it.
    public init(_ hash: @escaping Hash) { self.hash = hash }
}
