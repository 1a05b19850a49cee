import RoomCore
import RoomsWire

extension RoomsEncoding {
    func clientFrame(_ bytes: [UInt8]) throws(FrameError) -> ClientFrame? {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(FrameError) in try decodeClientFrame(bytes, isText: isText) }
        }
        return try result.get()
    }

    func hubFrame(_ bytes: [UInt8]) throws(FrameError) -> HubFrame? {
        let result = bytes.withUnsafeBytes { bytes in Result { () throws(FrameError) in try decodeHubFrame(bytes, isText: isText) } }
        return try result.get()
    }
}

/// Decodes a client's frame from JSON.
func client(_ json: String) throws(FrameError) -> ClientFrame? { try RoomsEncoding.json.clientFrame(Array(json.utf8)) }

/// Decodes a hub's frame from JSON.
func hub(_ json: String) throws(FrameError) -> HubFrame? { try RoomsEncoding.json.hubFrame(Array(json.utf8)) }

/// The error of a client's frame in JSON.
///
/// Nil if it is valid.
func complaint(_ json: String) -> FrameError? {
    do throws(FrameError) { _ = try client(json) } catch { return error }
    return nil
}

/// The error of a hub's frame in JSON.
///
/// Nil if it is valid.
func hubComplaint(_ json: String) -> FrameError? {
    do throws(FrameError) { _ = try hub(json) } catch { return error }
    return nil
}
