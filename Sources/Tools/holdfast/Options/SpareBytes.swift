import ArgumentParser

/// How many bytes are left alone: as a ``ByteCount``, or 0 for none.
struct SpareBytes: Hashable, Sendable, ExpressibleByArgument {
    let bytes: Int

    init?(argument: String) {
        guard let bytes = argument == "0" ? 0 : ByteCount(argument: argument)?.bytes else { return nil }
        self.bytes = bytes
    }
}
