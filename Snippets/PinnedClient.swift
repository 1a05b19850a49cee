// A client that trusts some keys of a host only, and says when they are not there.
import Holdfast

var configuration = WebSocketConfiguration()
// snippet.pins
configuration.tls.pins = [
    PinSet(
        "api.example.com",
        pins: [
            try Pin("sha256/ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="),  // the server
            try Pin("sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),  // the backup, in a safe
        ],
        expires: CalendarDate("2027-06-30"))
]
configuration.tls.onPinReport = { report in
    print("\(report.host): \(report.finding), refused: \(report.isRefused)")
}
// snippet.end

do {
    let connection = try await WebSocketConnection.connect(to: "wss://api.example.com/", configuration: configuration)
    await connection.close()
} catch  where error.code == .pinMismatch {
    print("not our server: \(error)")
} catch {
    print(error)
}
