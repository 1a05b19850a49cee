import MachineCore

extension Base64 {
    /// The bytes of a text, also where its padding is left out; nil if it is none.
    static func bytes(_ text: String) -> [UInt8]? {
        bytes(of: (text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)).utf8)
    }
}
