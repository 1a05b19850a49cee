import Foundation
import RoomCore
import RoomsWire

/// Our side of `Interop/rooms/frames.py`: reads `SIDE SOURCE TARGET HEX` lines and writes the same frame in the other encoding.
///
/// `SIDE` is `client` or `hub`, the sender of the frame. The answer is `ok HEX`, `unknown` or `error WHY`.
enum RoomFrameExchange {
    private struct Malformed: Error {}

    static func run() {
        while let line = readLine() {
            do {
                print(try answer(line).map { "ok " + $0.map { String(format: "%02x", $0) }.joined() } ?? "unknown")
            } catch {
                print("error \(error)")
            }
            fflush(nil)
        }
    }

    private static func answer(_ line: String) throws -> [UInt8]? {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 4, let source = encoding(words[1]), let target = encoding(words[2]) else { throw Malformed() }
        var digits = words[3][...]
        var bytes: [UInt8] = []
        while !digits.isEmpty {
            guard let byte = UInt8(digits.prefix(2), radix: 16) else { throw Malformed() }
            bytes.append(byte)
            digits = digits.dropFirst(2)
        }
        return try bytes.withUnsafeBytes { bytes in
            switch words[0] {
            case "client": try source.decodeClientFrame(bytes, isText: source.isText).map { target.bytes(of: $0) }
            case "hub": try source.decodeHubFrame(bytes, isText: source.isText).map { target.bytes(of: $0) }
            default: throw Malformed()
            }
        }
    }

    private static func encoding(_ name: String) -> RoomsEncoding? { RoomsEncoding(subprotocol: "holdfast.rooms.v1.\(name)") }
}
