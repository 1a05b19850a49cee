#if os(Linux)
    import Foundation
    import Holdfast

    /// Prints what happens to the network, and what a socket makes of it, for `scripts/test-network.sh`.
    struct PathReport {
        /// Where the socket connects to.
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
