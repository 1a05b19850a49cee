import ArgumentParser

/// The length of a message: as a ``ByteCount``, or 0.
struct PayloadSize: Hashable, Sendable, ExpressibleByArgument, CustomStringConvertible {
    let bytes: Int

    init(bytes: Int) { self.bytes = bytes }

    init?(argument: String) {
        guard let bytes = argument == "0" ? 0 : ByteCount(argument: argument)?.bytes else { return nil }
        self.bytes = bytes
    }

    var description: String { String(bytes) }
}
