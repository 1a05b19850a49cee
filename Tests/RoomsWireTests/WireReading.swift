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

/// A client's frame of JSON.
func client(_ json: String) throws(FrameError) -> ClientFrame? { try RoomsEncoding.json.clientFrame(Array(json.utf8)) }

/// A hub's frame of JSON.
func hub(_ json: String) throws(FrameError) -> HubFrame? { try RoomsEncoding.json.hubFrame(Array(json.utf8)) }

/// What is wrong with a client's frame of JSON; nil if it is taken.
func complaint(_ json: String) -> FrameError? {
    do throws(FrameError) { _ = try client(json) } catch { return error }
    return nil
}

/// What is wrong with a hub's frame of JSON; nil if it is taken.
func hubComplaint(_ json: String) -> FrameError? {
    do throws(FrameError) { _ = try hub(json) } catch { return error }
    return nil
}
