import WebSocketCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The source of PEM data.
public enum PEMSource: Hashable, Sendable {
    /// A file, read for each connection.
    case file(String)
    /// The given bytes.
    case bytes([UInt8])

    /// The source for error texts: the file's name, never the bytes.
    package var words: String {
        switch self {
        case .file(let path): path
        case .bytes: "given as bytes"
        }
    }

    /// The actual format if the data is not PEM, and how to convert it; nil if the data cannot be read or the format is unknown.
    package var mistake: String? { contents.flatMap(PEM.mistake(in:)) }

    /// The contents; nil for a file that cannot be read.
    var contents: [UInt8]? {
        switch self {
        case .bytes(let bytes): return bytes
        case .file(let path):
            guard let file = fopen(path, "r") else { return nil }
            defer { fclose(file) }
            var (contents, piece) = ([UInt8](), [UInt8](repeating: 0, count: 16 * 1024))
            while true {
                let count = fread(&piece, 1, piece.count, file)
                guard count > 0 else { return ferror(file) == 0 ? contents : nil }
                contents += piece[..<count]
            }
        }
    }
}
