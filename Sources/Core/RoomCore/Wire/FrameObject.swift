/// The JSON of a frame on its way into a value: what its type is, and then its fields in any order.
struct FrameObject {
    var reader: FrameReader
    /// The type that its fields are read for.
    let type: FrameWord
    /// Another type stands behind: of keys that are repeated the last one counts.
    private(set) var hasAnotherType = false
    private var object: FrameReader.Container

    /// Begins a frame whose type stands first, as it does when its sender is kind; otherwise looks for it.
    init(_ bytes: UnsafeRawBufferPointer, lookingForType: Bool, isStrict: Bool) throws(FrameError) {
        reader = unsafe FrameReader(bytes)
        reader.isStrict = isStrict
        object = try reader.object()
        let (start, container) = (reader.position, object)
        var type: FrameWord?
        while let key = try reader.key(of: &object) {
            if key == "t" { type = try reader.word("t") } else { try reader.skip() }
            if type != nil, !lookingForType { break }
        }
        guard let type else { throw FrameError(.missing, field: "t", at: 0) }
        self.type = type
        reader.position = start
        object = container
    }

    /// Takes the next key but `t`; nil after the last one, which ends the frame.
    mutating func key() throws(FrameError) -> FrameWord? {
        while let key = try reader.key(of: &object) {
            guard key == "t" else { return key }
            if try reader.word("t") != type { hasAnotherType = true }
        }
        try reader.finish()
        return nil
    }

    /// Goes past all fields.
    mutating func skip() throws(FrameError) { while try key() != nil { try reader.skip() } }
}

/// Reads a frame with what reads its fields.
func readFrame<Frame>(
    _ bytes: UnsafeRawBufferPointer, isStrict: Bool = false, _ read: (inout FrameObject) throws(FrameError) -> Frame?
) throws(FrameError) -> Frame? {
    var first = unsafe try FrameObject(bytes, lookingForType: false, isStrict: isStrict)
    do throws(FrameError) {
        let frame = try read(&first)
        if !first.hasAnotherType { return frame }
    } catch {
        // Of another type it might be right.
        guard let last = unsafe try? FrameObject(bytes, lookingForType: true, isStrict: isStrict), last.type != first.type else {
            throw error
        }
    }
    var last = unsafe try FrameObject(bytes, lookingForType: true, isStrict: isStrict)
    return try read(&last)
}

extension Optional {
    /// A field that the frame needs.
    func needed(_ field: StaticString) throws(FrameError) -> Wrapped {
        guard let self else { throw FrameError(.missing, field: field, at: 0) }
        return self
    }
}
