import Foundation
import Holdfast
import HoldfastServer
import Testing

/// WebSockets over Unix domain sockets.
@Suite struct WaysUnixSocketTests {
    /// Provides a path in a new folder.
    private func withSocketPath(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "hf-\(UInt32.random(in: .min ... .max))", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder.appending(path: "a b.sock").path)
    }

    @Test func `messages pass in both directions, and the server removes its socket file`() async throws {
        try await withSocketPath { path in
            try await WebSocketServer.echo { $0.unixSocket = path }.withRunning { server in
                #expect((server.socketPath, server.port) == (path, 0))
                #expect(server.url("/x").hasSuffix("a%20b.sock:/x"))
                try await WebSocketConnection.withConnection(to: server.url()) { connection in
                    try await connection.send(.text("hello"))
                    try await connection.expect(.text("hello"))
                }
            }
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `the server sees the path and the Host field, and no remote address`() async throws {
        try await withSocketPath { path in
            var configuration = WebSocketServerConfiguration()
            configuration.unixSocket = path
            let server = WebSocketServer(configuration: configuration) { connection, request in
                try await connection.send(
                    .text("\(request.head.target) \(request.headers["Host"] ?? "") \(request.remoteAddress ?? "nowhere")"))
            }
            try await server.withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url("/a?b")) {
                    try await $0.expect(.text("/a?b localhost nowhere"))
                }
            }
        }
    }

    @Test func `a socket file of an earlier server is replaced, and another file is not`() async throws {
        try await withSocketPath { path in
            let first = WebSocketServer.echo { $0.unixSocket = path }
            try await first.withRunning { _ in
                try FileManager.default.moveItem(atPath: path, toPath: path + "2")
            }
            try FileManager.default.moveItem(atPath: path + "2", toPath: path)
            try await first.withRunning { server in
                try await WebSocketConnection.withConnection(to: server.url()) { try await $0.send(.text("hello")) }
            }
            try Data("mine".utf8).write(to: URL(filePath: path))
            let error = await #expect(throws: WebSocketError.self) { try await first.withRunning { _ in } }
            #expect(error?.description.contains(path) == true)
            #expect(FileManager.default.contents(atPath: path) == Data("mine".utf8))
        }
    }

    @Test func `a socket file of a running server is not replaced`() async throws {
        try await withSocketPath { path in
            let server = WebSocketServer.echo { $0.unixSocket = path }
            try await server.withRunning { running in
                let error = await #expect(throws: WebSocketError.self) { try await server.withRunning { _ in } }
                #expect(error?.description.contains(": another server listens there") == true)
                try await WebSocketConnection.withConnection(to: running.url()) { connection in
                    try await connection.send(.text("hello"))
                    try await connection.expect(.text("hello"))
                }
            }
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `a file that replaced the socket file is not removed`() async throws {
        try await withSocketPath { path in
            try await WebSocketServer.echo { $0.unixSocket = path }.withRunning { _ in
                try FileManager.default.removeItem(atPath: path)
                try Data("mine".utf8).write(to: URL(filePath: path))
            }
            #expect(FileManager.default.contents(atPath: path) == Data("mine".utf8))
        }
    }

    @Test(arguments: [0o600, 0o666, 0o620]) func `the socket file has the configured permissions`(bits: Int) async throws {
        try await withSocketPath { path in
            let server = WebSocketServer.echo { ($0.unixSocket, $0.unixSocketPermissions) = (path, UInt16(bits)) }
            try await server.withRunning { server in
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == bits)
                try await WebSocketConnection.withConnection(to: server.url()) { try await $0.send(.text("hello")) }
            }
        }
    }

    @Test func `a missing socket file is unreachable`() async throws {
        try await withSocketPath { path in
            let url = try WebSocketURL(unixSocket: path).string
            let error = await #expect(throws: WebSocketError.self) { try await WebSocketConnection.connect(to: url) }
            #expect((error?.code, error?.isRetryable) == (.unreachable, true))
            #expect(error?.description.contains("no such file or directory") == true)
        }
    }

    @Test func `a Unix socket with a proxy is an invalid configuration`() async throws {
        let configuration = WebSocketConfiguration.with { $0.proxy = (try? Proxy("http://127.0.0.1:1")).map { .through($0) } ?? .direct }
        let error = await #expect(throws: WebSocketError.self) {
            try await WebSocketConnection.connect(to: "ws+unix:/nowhere:/", configuration: configuration)
        }
        #expect(error?.code == .invalidConfiguration)
    }
}
