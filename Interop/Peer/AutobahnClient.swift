import Holdfast

/// The client that Autobahn's fuzzing server tests.
///
/// It runs every case in order and echoes.
struct AutobahnClient {
    let url: String
    let agent: String
    var configuration = WebSocketConfiguration()

    init(url: String, agent: String) {
        (self.url, self.agent) = (url, agent)
        configuration.limits = .forPeers
        configuration.compression?.threshold = 0
    }

    func run() async throws {
        let count = try await WebSocketConnection.withConnection(to: "\(url)/getCaseCount", configuration: configuration) {
            connection in
            for try await case .text(let text) in connection.messages { return Int(text) ?? 0 }
            return 0
        }
        for number in 1...max(count, 1) { await runCase(number) }
        try await WebSocketConnection.withConnection(to: "\(url)/updateReports?agent=\(agent)", configuration: configuration) {
            connection in
            for try await _ in connection.messages {}
        }
    }

    /// The server judges the result of a case.
    ///
    /// Most cases end with an error here.
    private func runCase(_ number: Int) async {
        let place = "\(url)/runCase?case=\(number)&agent=\(agent)"
        try? await WebSocketConnection.withConnection(to: place, configuration: configuration) {
            for try await message in $0.messages { try await $0.send(message) }
        }
    }
}
