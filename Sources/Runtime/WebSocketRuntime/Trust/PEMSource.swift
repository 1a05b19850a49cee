/// Where something in PEM comes from.
public enum PEMSource: Hashable, Sendable {
    /// A file, read for each connection.
    case file(String)
    /// These bytes.
    case bytes([UInt8])

    /// For messages: the file's name, never the bytes.
    package var words: String {
        switch self {
        case .file(let path): path
        case .bytes: "given as bytes"
        }
    }
}
