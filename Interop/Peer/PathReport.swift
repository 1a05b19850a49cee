#if os(Linux)
    import Foundation
    import Holdfast

    /// Prints network changes and the states of a socket, for `scripts/test-network.sh`.
    struct PathReport {
        /// The URL of the socket.
        let url: String

        func run() async {
            let source = LinuxPathSource(every: .milliseconds(100))
            let socket = WebSocket(url) {
                $0.pathSource = source
                $0.connection.timeouts.connect = .seconds(1)
            }
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await update in source.updates() { say("path \(update)") }
                }
                group.addTask {
                    for await state in socket.states { say("state \(state)") }
                }
            }
        }

        private func say(_ line: String) {
            print(line)
            fflush(nil)
        }
    }
#endif
