// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// Every target, tests included, gets these.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .treatAllWarnings(as: .error),
]
/// Core targets also refuse unmarked unsafe code.
let pure = strict + [.strictMemorySafety()]

// On Apple platforms only: a resource would link Foundation elsewhere.
#if canImport(Darwin)
    let privacyManifest = (resources: [Resource.copy("PrivacyInfo.xcprivacy")], excluded: [String]())
    let translations = (resources: [Resource.process("Resources")], excluded: [String]())
#else
    let privacyManifest = (resources: [Resource](), excluded: ["PrivacyInfo.xcprivacy"])
    let translations = (resources: [Resource](), excluded: ["Resources"])
#endif

// The page of `holdfast serve quotes`, built into its server.
let page: [Resource] = [
    "quotes.html", "page.css", "page.mjs", "table.mjs", "market.mjs", "worker.mjs", "feed.mjs", "backoff.mjs", "book.mjs",
    "messagepack.mjs",
].map { .embedInCode("Page/\($0)") }

// The page of the hub, built into it.
let hubPage: [Resource] = [
    "chat.html", "status.html", "page.css", "chat.css", "status.css", "chat.mjs", "door.mjs", "conversation.mjs", "messages.mjs",
    "timeline.mjs", "tabs.mjs", "rooms.mjs", "link.mjs", "joining.mjs", "entries.mjs", "outbox.mjs", "renewal.mjs", "history.mjs",
    "people.mjs", "turns.mjs", "room.mjs", "store.mjs", "presence.mjs", "policy.mjs", "protocol.mjs", "identity.mjs", "backoff.mjs",
    "status.mjs", "chart.mjs",
].map { .embedInCode("Page/\($0)") }

let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["SwiftNIO"]))
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["SwiftNIO"]))
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio", condition: .when(traits: ["SwiftNIO"]))
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio", condition: .when(traits: ["SwiftNIO"]))
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["SwiftNIO"]))
let nioHTTP2 = Target.Dependency.product(name: "NIOHTTP2", package: "swift-nio-http2", condition: .when(traits: ["HTTP2"]))
let nioHPACK = Target.Dependency.product(name: "NIOHPACK", package: "swift-nio-http2", condition: .when(traits: ["HTTP2"]))
let atomics = Target.Dependency.product(name: "Atomics", package: "swift-atomics")
let deques = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let metricsKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let protobuf = Target.Dependency.product(
    name: "SwiftProtobuf", package: "swift-protobuf", condition: .when(traits: ["Protobuf", "Quotes", "Rooms", "Hub"]))
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Hub"]))
let jwt = Target.Dependency.product(name: "JWTKit", package: "jwt-kit", condition: .when(traits: ["Hub"]))
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["WAMP", "Router", "Hub"]))
let lifecycle = Target.Dependency.product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Server"]))
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Tool"]))
let histogram = Target.Dependency.product(name: "Histogram", package: "hdrhistogram-swift", condition: .when(traits: ["Tool"]))
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")

/// Over SwiftNIO, where an app does not go without it.
let nioTransport = Target.Dependency.target(name: "WebSocketNIO", condition: .when(traits: ["SwiftNIO"]))
/// Chats are for apps that have rooms.
let roomsClient = Target.Dependency.target(name: "HoldfastRooms", condition: .when(traits: ["Rooms"]))

// An app fetches what its traits name, by default a client. A clone of this repository builds all there is. SwiftPM does not say which of the two
// it is. It reads a package that it fetches out of a repository, where the folder is "/". Later the package lies in "checkouts" beside
// "repositories", or below "registry/downloads".
let folder = Context.packageDirectory
let isCheckout =
    folder.split(separator: "/").dropLast().last == "checkouts" && FileManager.default.fileExists(atPath: "\(folder)/../../repositories")
let isFetched = folder == "/" || isCheckout || folder.contains("/registry/downloads/")

let package = Package(
    name: "holdfast",
    defaultLocalization: "en",
    platforms: [.macOS(.v14), .iOS(.v17)],
    products: [
        .library(name: "Holdfast", targets: ["Holdfast"]),
        .library(name: "HoldfastCodecs", targets: ["HoldfastCodecs"]),
        .library(name: "HoldfastProtobuf", targets: ["HoldfastProtobuf"]),
        .library(name: "HoldfastProtocols", targets: ["HoldfastProtocols"]),
        .library(name: "HoldfastQuotes", targets: ["HoldfastQuotes"]),
        .library(name: "HoldfastRooms", targets: ["HoldfastRooms"]),
        .library(name: "HoldfastWAMP", targets: ["HoldfastWAMP"]),
        .library(name: "HoldfastGraphQL", targets: ["HoldfastGraphQL"]),
        .library(name: "HoldfastSocketIO", targets: ["HoldfastSocketIO"]),
        .library(name: "HoldfastUI", targets: ["HoldfastUI"]),
        .library(name: "HoldfastServer", targets: ["HoldfastServer"]),
        .library(name: "HoldfastHub", targets: ["HoldfastHub"]),
        .library(name: "HoldfastRouter", targets: ["HoldfastRouter"]),
        .library(name: "HoldfastTesting", targets: ["HoldfastTesting"]),
        .executable(name: "holdfast", targets: ["HoldfastTool"]),
    ],
    traits: [
        .trait(
            name: "SwiftNIO",
            description: "Connections over SwiftNIO: TCP, TLS, proxies. Without it, those of URLSession, on Apple platforms."),
        .trait(name: "HTTP2", description: "WebSockets over HTTP/2 (RFC 8441)", enabledTraits: ["SwiftNIO"]),
        .trait(name: "Protobuf", description: "HoldfastProtobuf"),
        .trait(name: "Quotes", description: "HoldfastQuotes"),
        .trait(name: "Rooms", description: "HoldfastRooms, and the chats of HoldfastUI"),
        .trait(name: "WAMP", description: "HoldfastWAMP"),
        .trait(name: "Server", description: "HoldfastServer", enabledTraits: ["HTTP2"]),
        .trait(name: "Hub", description: "HoldfastHub", enabledTraits: ["Server"]),
        .trait(name: "Router", description: "HoldfastRouter", enabledTraits: ["Server"]),
        .trait(
            name: "Tool", description: "The command-line tool, with all of the above",
            enabledTraits: ["Protobuf", "Quotes", "Rooms", "WAMP", "Hub", "Router"]),
        .default(enabledTraits: isFetched ? ["SwiftNIO"] : ["Tool"]),
    ],
    dependencies: [
        // Sockets and event loops, on every platform.
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        // Double-ended queues.
        .package(url: "https://github.com/apple/swift-collections.git", from: "1.6.0"),
        // Flags that threads share without a lock; SwiftNIO brings it in any case.
        .package(url: "https://github.com/apple/swift-atomics.git", from: "1.1.0"),
        // TLS where Network.framework is not.
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        // Network.framework on Apple platforms.
        .package(url: "https://github.com/apple/swift-nio-transport-services.git", from: "1.28.0"),
        // Frames, header compression and flow control of HTTP/2.
        .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.46.0"),
        // What an app logs, counts and traces with: its own backends see the sessions too.
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.0"),
        // Messages of Protocol Buffers; only HoldfastProtobuf and what is built on it need it.
        .package(url: "https://github.com/apple/swift-protobuf.git", from: "1.39.0"),
        // Plain HTTP around the hub: its API, its page, its health.
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0"),
        // Tokens of those who join rooms.
        .package(url: "https://github.com/vapor/jwt-kit.git", from: "5.7.0"),
        // Signatures and hashes of WAMP's methods of authentication.
        .package(url: "https://github.com/apple/swift-crypto.git", "3.12.0"..<"5.0.0"),
        // Graceful shutdown of the server inside a larger service.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        // The tool's command line.
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
        // Percentiles of latencies in the tool's benchmark.
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift.git", from: "0.2.0"),
    ],
    targets: [
        // Core: rules only.
        .target(name: "MachineCore", path: "Sources/Core/MachineCore", swiftSettings: pure),
        .target(name: "WebSocketCore", dependencies: ["MachineCore"], path: "Sources/Core/WebSocketCore", swiftSettings: pure),
        .target(
            name: "SessionCore", dependencies: ["MachineCore", "WebSocketCore"], path: "Sources/Core/SessionCore", swiftSettings: pure),
        .target(name: "CodecCore", dependencies: ["MachineCore"], path: "Sources/Core/CodecCore", swiftSettings: pure),
        .target(name: "StreamCore", dependencies: ["MachineCore"], path: "Sources/Core/StreamCore", swiftSettings: pure),
        .target(
            name: "ProtocolCore", dependencies: ["MachineCore", "WebSocketCore"], path: "Sources/Core/ProtocolCore",
            swiftSettings: pure),
        .target(
            name: "QuotesCore", dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "WebSocketCore"],
            path: "Sources/Core/QuotesCore", swiftSettings: pure),
        .target(
            name: "RoomCore", dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "WebSocketCore"], path: "Sources/Core/RoomCore",
            swiftSettings: pure),
        .target(
            name: "GraphQLCore", dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "WebSocketCore"],
            path: "Sources/Core/GraphQLCore", swiftSettings: pure),
        .target(
            name: "SocketIOCore", dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "WebSocketCore"],
            path: "Sources/Core/SocketIOCore", swiftSettings: pure),
        .target(
            name: "WAMPCore", dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "WebSocketCore"], path: "Sources/Core/WAMPCore",
            swiftSettings: pure),
        .target(
            name: "DocumentCore", dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "WebSocketCore"],
            path: "Sources/Core/DocumentCore", swiftSettings: pure),

        // Runtime: where rules meet the world.
        .systemLibrary(
            name: "CZlib", path: "Sources/Runtime/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(
            name: "WebSocketRuntime", dependencies: ["MachineCore", "WebSocketCore", "CZlib", deques, atomics],
            path: "Sources/Runtime/WebSocketRuntime", swiftSettings: strict),
        .target(
            name: "WebSocketNIO",
            dependencies: [
                "MachineCore", "WebSocketCore", "WebSocketRuntime", nioCore, nioPosix, nioTLS, nioSSL, nioHTTP2,
                nioHPACK, deques,
                .product(
                    name: "NIOTransportServices", package: "swift-nio-transport-services",
                    condition: .when(platforms: [.iOS, .macOS], traits: ["SwiftNIO"])),
            ],
            path: "Sources/Runtime/WebSocketNIO", swiftSettings: strict),

        .target(
            name: "WebSocketApple", dependencies: ["MachineCore", "WebSocketCore", "WebSocketRuntime", deques],
            path: "Sources/Runtime/WebSocketApple", swiftSettings: strict),
        // The frames of rooms in Protocol Buffers, for both sides.
        .target(
            name: "RoomsWire", dependencies: ["RoomCore", "CodecCore", "WebSocketCore", protobuf], path: "Sources/Runtime/RoomsWire",
            exclude: ["rooms.proto"], swiftSettings: strict),

        // What lies in the files of both sides, and who holds them: the outbox and the history of an app, the log of a hub.
        .systemLibrary(
            name: "CRoomsSQLite", path: "Sources/Runtime/CRoomsSQLite", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .target(
            name: "RoomsStorage", dependencies: ["RoomCore", "CodecCore", "WebSocketRuntime", "CRoomsSQLite"],
            path: "Sources/Runtime/RoomsStorage", swiftSettings: strict),
        // How a client proves to a router who it is, and the router checks it.
        .target(
            name: "WAMPSigning", dependencies: ["MachineCore", "WAMPCore", "CodecCore", crypto], path: "Sources/Runtime/WAMPSigning",
            swiftSettings: strict),

        // Client: what an app imports.
        .target(
            name: "Holdfast",
            dependencies: [
                "MachineCore", "WebSocketCore", "SessionCore", "CodecCore", "StreamCore", "WebSocketRuntime", nioTransport,
                "WebSocketApple", nioCore, deques, logging, metrics, tracing,
            ],
            path: "Sources/Client/Holdfast", exclude: privacyManifest.excluded, resources: privacyManifest.resources, swiftSettings: strict),

        .target(
            name: "HoldfastCodecs", dependencies: ["Holdfast", "MachineCore", "CodecCore", "WebSocketCore"],
            path: "Sources/Client/HoldfastCodecs",
            swiftSettings: strict),
        .target(
            name: "HoldfastProtobuf", dependencies: ["Holdfast", "WebSocketCore", protobuf], path: "Sources/Client/HoldfastProtobuf",
            swiftSettings: strict),
        .target(
            name: "HoldfastProtocols",
            dependencies: [
                "Holdfast", "MachineCore", "CodecCore", "ProtocolCore", "StreamCore", "WebSocketCore", "WebSocketRuntime", deques,
            ],
            path: "Sources/Client/HoldfastProtocols", swiftSettings: strict),
        // The sample of "Your own protocol".
        .target(name: "Board", dependencies: ["HoldfastProtocols"], path: "Examples/Board", swiftSettings: strict),
        .target(
            name: "HoldfastQuotes",
            dependencies: [
                "Holdfast", "MachineCore", "WebSocketCore", "WebSocketRuntime", "CodecCore", "ProtocolCore", "HoldfastProtocols",
                "QuotesCore", protobuf,
            ],
            path: "Sources/Client/HoldfastQuotes", exclude: ["Wire/quotes.proto"], swiftSettings: strict),
        .target(
            name: "HoldfastRooms",
            dependencies: [
                "Holdfast", "MachineCore", "ProtocolCore", "HoldfastProtocols", "WebSocketCore", "WebSocketRuntime", "CodecCore",
                "RoomCore", "RoomsWire", "RoomsStorage", deques, logging, metrics,
            ],
            path: "Sources/Client/HoldfastRooms", swiftSettings: strict),
        .target(
            name: "HoldfastWAMP",
            dependencies: [
                "Holdfast", "HoldfastCodecs", "MachineCore", "ProtocolCore", "HoldfastProtocols", "WebSocketCore", "WebSocketRuntime",
                "CodecCore", "StreamCore", "WAMPCore", "WAMPSigning", logging, metrics,
            ],
            path: "Sources/Client/HoldfastWAMP", swiftSettings: strict),
        .target(
            name: "HoldfastGraphQL",
            dependencies: [
                "Holdfast", "HoldfastCodecs", "HoldfastProtocols", "MachineCore", "ProtocolCore", "WebSocketCore", "WebSocketRuntime",
                "CodecCore", "GraphQLCore",
            ],
            path: "Sources/Client/HoldfastGraphQL", swiftSettings: strict),
        .target(
            name: "HoldfastSocketIO",
            dependencies: [
                "Holdfast", "HoldfastCodecs", "HoldfastProtocols", "MachineCore", "ProtocolCore", "WebSocketCore", "WebSocketRuntime",
                "WebSocketApple", "CodecCore", "SocketIOCore",
            ],
            path: "Sources/Client/HoldfastSocketIO", swiftSettings: strict),
        .target(
            name: "HoldfastDocuments",
            dependencies: [
                "Holdfast", "HoldfastProtocols", "MachineCore", "ProtocolCore", "WebSocketCore", "WebSocketRuntime", "DocumentCore",
            ],
            path: "Sources/Client/HoldfastDocuments", swiftSettings: strict),
        .target(
            name: "HoldfastUI", dependencies: ["Holdfast", roomsClient, "RoomCore", "SessionCore"], path: "Sources/Client/HoldfastUI",
            exclude: translations.excluded, resources: translations.resources, swiftSettings: strict),

        // Server.
        .target(
            name: "HoldfastServer",
            dependencies: [
                "Holdfast", "MachineCore", "WebSocketCore", "WebSocketRuntime", "WebSocketNIO", nioCore, nioPosix, nioSSL,
                deques, metrics, lifecycle,
            ],
            path: "Sources/Server/HoldfastServer", swiftSettings: strict),

        .target(
            name: "HoldfastHub",
            dependencies: [
                "Holdfast", "HoldfastServer", "MachineCore", "WebSocketCore", "WebSocketRuntime", "WebSocketNIO", "CodecCore", "RoomCore",
                "RoomsWire", "RoomsStorage", nioCore, nioPosix, deques, hummingbird, jwt, crypto, lifecycle, logging,
                metrics,
            ],
            path: "Sources/Server/HoldfastHub", resources: hubPage, swiftSettings: strict),
        .target(
            name: "HoldfastRouter",
            dependencies: [
                "Holdfast", "HoldfastServer", "MachineCore", "WebSocketCore", "WebSocketRuntime", "WebSocketNIO", "CodecCore", "WAMPCore",
                "WAMPSigning", nioCore, nioPosix, deques, lifecycle, logging, metrics,
            ],
            path: "Sources/Server/HoldfastRouter", swiftSettings: strict),

        // Tools.
        .target(
            name: "HoldfastTesting",
            dependencies: ["Holdfast", "MachineCore", "ProtocolCore", "WebSocketCore", "WebSocketRuntime", nioCore, nioPosix, deques],
            path: "Sources/Tools/HoldfastTesting", swiftSettings: strict),
        // What the tool writes to a terminal and reads from one.
        .target(
            name: "HoldfastTerminal", dependencies: ["Holdfast", "MachineCore", "RoomCore"], path: "Sources/Tools/HoldfastTerminal",
            swiftSettings: strict),
        // What `holdfast doctor` runs.
        .target(
            name: "HoldfastDoctor",
            dependencies: ["Holdfast", "HoldfastTerminal", "MachineCore", "ProtocolCore", "GraphQLCore", "SocketIOCore", "CodecCore"],
            path: "Sources/Tools/HoldfastDoctor", swiftSettings: strict),
        // What `holdfast serve quotes` and `holdfast quotes` run.
        .target(
            name: "HoldfastMarket",
            dependencies: [
                "Holdfast", "HoldfastServer", "HoldfastQuotes", "HoldfastTerminal", "QuotesCore", "MachineCore", "WebSocketRuntime",
            ],
            path: "Sources/Tools/HoldfastMarket", resources: page, swiftSettings: strict),
        .executableTarget(
            name: "HoldfastTool",
            dependencies: [
                "Holdfast", "HoldfastServer", "HoldfastTesting", "HoldfastTerminal", "HoldfastDoctor", "HoldfastMarket", "HoldfastCodecs",
                "HoldfastProtobuf", "HoldfastQuotes", "HoldfastRooms", "HoldfastHub", "HoldfastWAMP", "HoldfastGraphQL", "HoldfastSocketIO",
                "HoldfastRouter", "CodecCore", "StreamCore", "RoomCore", "RoomsWire", "RoomsStorage", "QuotesCore", "WAMPCore",
                "WAMPSigning",
                "MachineCore", "WebSocketCore", "WebSocketRuntime", nioCore, logging, metrics, arguments, histogram,
            ],
            path: "Sources/Tools/holdfast", swiftSettings: strict),

        // Peers of the conformance, interop and benchmark scripts.
        .executableTarget(
            name: "HoldfastPeer",
            dependencies: [
                "Board", "Holdfast", "MachineCore", "HoldfastProtocols", "HoldfastServer", "HoldfastTesting", "HoldfastCodecs",
                "HoldfastQuotes",
                "HoldfastRooms", "HoldfastHub", "HoldfastWAMP", "HoldfastGraphQL", "HoldfastSocketIO", "HoldfastRouter", "CodecCore",
                "DocumentCore", "HoldfastDocuments", "RoomCore", "RoomsWire",
                "RoomsStorage", "RoomHistory", "WAMPCore", "WAMPSigning", "WebSocketCore", "WebSocketRuntime", nioCore, nioPosix, logging,
            ],
            path: "Interop/Peer", swiftSettings: strict),
        // What `make bench-quick` counts the instructions of.
        .executableTarget(
            name: "HoldfastProbe",
            dependencies: [
                "MachineCore", "WebSocketCore", "WebSocketRuntime", "WebSocketNIO", "Holdfast", "HoldfastCodecs", "RoomCore", "RoomsWire",
                "CZlib", nioCore, nioEmbedded,
            ],
            path: "Benchmarks/Probe", swiftSettings: strict),

        // What `make footprint` weighs.
        .executableTarget(
            name: "FootprintConnect", dependencies: ["Holdfast"], path: "Benchmarks/footprint/Connect", swiftSettings: strict),
        .executableTarget(
            name: "FootprintBare",
            dependencies: [
                nioCore, nioPosix, nioSSL, .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["SwiftNIO"])),
                .product(name: "NIOWebSocket", package: "swift-nio", condition: .when(traits: ["SwiftNIO"])),
            ],
            path: "Benchmarks/footprint/Bare", swiftSettings: strict),

        // What libFuzzer runs; tests replay its corpus.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "MachineCore", "WebSocketCore", "WebSocketRuntime", "CodecCore", "StreamCore", "QuotesCore", "RoomCore", "RoomsWire",
                "WAMPCore", "WAMPAudit", "ProtocolCore", "GraphQLCore", "SocketIOCore", "DocumentCore", "HoldfastCodecs",
            ],
            path: "Fuzz/Targets",
            swiftSettings: strict),
        .testTarget(name: "FuzzTests", dependencies: ["FuzzTargets", "MachineCore"], swiftSettings: strict),

        .testTarget(name: "MachineCoreTests", dependencies: ["MachineCore"], swiftSettings: strict),
        .testTarget(name: "WebSocketCoreTests", dependencies: ["MachineCore", "WebSocketCore", "HoldfastTesting"], swiftSettings: strict),
        .testTarget(
            name: "SessionCoreTests", dependencies: ["MachineCore", "WebSocketCore", "SessionCore", "HoldfastTesting"],
            swiftSettings: strict),
        .testTarget(name: "CodecCoreTests", dependencies: ["CodecCore", "MachineCore"], swiftSettings: strict),
        .testTarget(name: "StreamCoreTests", dependencies: ["MachineCore", "StreamCore", "HoldfastTesting"], swiftSettings: strict),
        .testTarget(
            name: "QuotesCoreTests", dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "QuotesCore", "HoldfastTesting"],
            swiftSettings: strict),
        // Judges what clients and a hub wrote down of a run: the simulation's and the real ones'. Knows nothing of RoomCore.
        .target(name: "RoomHistory", path: "Tests/RoomHistory", swiftSettings: strict),
        .testTarget(
            name: "RoomCoreTests",
            dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "RoomCore", "RoomHistory", "HoldfastTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "DocumentCoreTests", dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "WebSocketCore", "DocumentCore"],
            swiftSettings: strict),
        // Does anything to a client and a router of WAMP, and judges what they make of it: tests by chance, the fuzzer by bytes.
        .target(
            name: "WAMPAudit", dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "WAMPCore"], path: "Tests/WAMPAudit",
            swiftSettings: strict),
        .testTarget(
            name: "GraphQLCoreTests",
            dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "GraphQLCore", "WebSocketCore", "HoldfastTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "SocketIOCoreTests",
            dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "SocketIOCore", "WebSocketCore", "HoldfastTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "WAMPCoreTests",
            dependencies: ["MachineCore", "CodecCore", "ProtocolCore", "WebSocketCore", "WAMPCore", "WAMPAudit", "HoldfastTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "WAMPSigningTests", dependencies: ["MachineCore", "CodecCore", "WAMPCore", "WAMPSigning", crypto],
            swiftSettings: strict),
        .testTarget(
            name: "RoomsWireTests", dependencies: ["MachineCore", "CodecCore", "WebSocketCore", "RoomCore", "RoomsWire", protobuf],
            swiftSettings: strict),
        .testTarget(
            name: "WebSocketRuntimeTests",
            dependencies: ["MachineCore", "WebSocketCore", "SessionCore", "WebSocketRuntime", "HoldfastTesting", deques],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastTestingTests",
            dependencies: [
                "MachineCore", "WebSocketCore", "WebSocketRuntime", "Holdfast", "HoldfastTesting", nioCore, nioPosix, nioEmbedded,
            ],
            swiftSettings: strict),
        // The world of a protocol's client, for the tests of all protocols.
        .target(
            name: "ProtocolStage", dependencies: ["MachineCore", "WebSocketCore", "Holdfast", "HoldfastTesting"],
            path: "Tests/ProtocolStage", swiftSettings: strict),
        // Peers that misbehave, for the two targets below.
        .target(
            name: "ScriptedPeers", dependencies: ["WebSocketCore", "WebSocketRuntime", nioCore, nioPosix], path: "Tests/ScriptedPeers",
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastTests",
            dependencies: [
                "MachineCore", "WebSocketCore", "SessionCore", "CodecCore", "StreamCore", "WebSocketRuntime", "WebSocketNIO",
                "WebSocketApple", "Holdfast", "HoldfastServer", "HoldfastTesting", "ScriptedPeers", nioCore, nioPosix, nioEmbedded,
                nioTLS, nioSSL,
                // Nothing tells a secret: one test for all that carry one.
                "RoomCore", "WAMPCore", "HoldfastRooms", "HoldfastHub", "HoldfastWAMP", "HoldfastRouter",
                logging, metrics, tracing, metricsKit, .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastCodecsTests",
            dependencies: [
                "MachineCore", "WebSocketCore", "CodecCore", "Holdfast", "HoldfastCodecs", "HoldfastProtobuf", "HoldfastTesting", protobuf,
            ],
            exclude: ["Protobuf/order.proto"], swiftSettings: strict),
        .testTarget(name: "ProtocolCoreTests", dependencies: ["MachineCore", "ProtocolCore", "HoldfastTesting"], swiftSettings: strict),
        .testTarget(
            name: "HoldfastProtocolsTests",
            dependencies: [
                "MachineCore", "ProtocolCore", "HoldfastProtocols", "WebSocketCore", "WebSocketRuntime", "Holdfast", "HoldfastTesting",
                "ProtocolStage",
            ],
            swiftSettings: strict),
        .testTarget(name: "BoardTests", dependencies: ["Board", "HoldfastProtocols", "HoldfastTesting"], swiftSettings: strict),
        .testTarget(
            name: "HoldfastQuotesTests",
            dependencies: [
                "MachineCore", "WebSocketCore", "WebSocketRuntime", "QuotesCore", "Holdfast", "HoldfastQuotes", "HoldfastServer",
                "HoldfastTesting", "ProtocolStage", protobuf,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastUITests",
            dependencies: ["SessionCore", "RoomCore", "Holdfast", "HoldfastRooms", "HoldfastUI", "HoldfastTesting"], swiftSettings: strict),
        .testTarget(
            name: "HoldfastRoomsTests",
            dependencies: [
                "MachineCore", "WebSocketCore", "WebSocketRuntime", "CodecCore", "RoomCore", "RoomsWire", "RoomsStorage", "RoomHistory",
                "Holdfast",
                "HoldfastRooms", "HoldfastServer", "HoldfastHub", "HoldfastTesting", "ProtocolStage",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastGraphQLTests",
            dependencies: [
                "WebSocketCore", "WebSocketRuntime", "CodecCore", "GraphQLCore", "HoldfastGraphQL", "HoldfastTesting", "ProtocolStage",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastSocketIOTests",
            dependencies: [
                "WebSocketCore", "WebSocketRuntime", "CodecCore", "SocketIOCore", "HoldfastSocketIO", "HoldfastTesting", "ProtocolStage",
                "ScriptedPeers",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastWAMPTests",
            dependencies: [
                "MachineCore", "WebSocketCore", "WebSocketRuntime", "CodecCore", "StreamCore", "WAMPCore", "WAMPSigning", "Holdfast",
                "HoldfastCodecs", "HoldfastWAMP", "HoldfastServer", "HoldfastRouter", "HoldfastTesting", "ProtocolStage", logging,
                .product(name: "InMemoryLogging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastRouterTests",
            dependencies: [
                "MachineCore", "WebSocketCore", "WebSocketRuntime", "CodecCore", "WAMPCore", "WAMPSigning", "Holdfast", "HoldfastServer",
                "HoldfastWAMP", "HoldfastRouter", "HoldfastTesting", nioCore, logging,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastHubTests",
            dependencies: [
                "MachineCore", "WebSocketCore", "WebSocketRuntime", "CodecCore", "RoomCore", "RoomsWire", "RoomsStorage", "RoomHistory",
                "Holdfast",
                "HoldfastServer", "HoldfastHub", "HoldfastTesting", "ScriptedPeers", hummingbird, jwt, lifecycle, metrics, nioCore,
                nioPosix,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastServerTests",
            dependencies: [
                "MachineCore", "WebSocketCore", "WebSocketRuntime", "WebSocketNIO", "Holdfast", "HoldfastServer", "HoldfastTesting",
                "ScriptedPeers", metrics, metricsKit, lifecycle, nioCore, nioPosix, nioEmbedded,
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastTerminalTests", dependencies: ["HoldfastTerminal", "Holdfast", "RoomCore", "WebSocketCore"],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastDoctorTests", dependencies: ["HoldfastDoctor", "HoldfastTerminal", "Holdfast"], swiftSettings: strict),
        .testTarget(
            name: "HoldfastMarketTests",
            dependencies: [
                "HoldfastMarket", "HoldfastTerminal", "Holdfast", "HoldfastQuotes", "HoldfastServer", "MachineCore", "ProtocolCore",
                "QuotesCore", "WebSocketCore",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "HoldfastToolTests",
            dependencies: [
                "HoldfastTool", "HoldfastTerminal", "HoldfastServer", "Holdfast", "HoldfastTesting", "HoldfastCodecs", "HoldfastRooms",
                "HoldfastHub", "HoldfastWAMP", "HoldfastRouter", "HoldfastGraphQL", "HoldfastSocketIO", "RoomCore", "WAMPCore",
                "GraphQLCore",
                "SocketIOCore", "MachineCore", "CodecCore", "StreamCore", "WebSocketCore", metrics, logging, arguments,
            ], swiftSettings: strict),
    ]
)

// A Mac that tests for iOS builds all targets there are, and iOS has no processes: it leaves those out that start any.
if Context.environment["HOLDFAST_FOR_IOS"] != nil {
    let unfit = [
        "HoldfastTool", "HoldfastTerminal", "HoldfastDoctor", "HoldfastMarket", "HoldfastPeer", "HoldfastProbe", "FootprintConnect",
        "FootprintBare", "FuzzTargets", "FuzzTests", "ScriptedPeers", "HoldfastTests",
    ]
    let tests = ["Server", "Hub", "Router", "Testing", "Tool", "Terminal", "Doctor", "Market"].map { "Holdfast\($0)Tests" }
    let left = Set(unfit + tests)
    package.targets.removeAll { left.contains($0.name) }
    package.products.removeAll { $0.name == "holdfast" }
}

// `make traits` tests the client without the trait SwiftNIO: what is left of it, with those of its tests that need no network.
if Context.environment["HOLDFAST_WITHOUT_NIO"] != nil {
    let left: Set = [
        "MachineCore", "WebSocketCore", "SessionCore", "CodecCore", "StreamCore", "ProtocolCore", "CZlib", "WebSocketRuntime",
        "WebSocketApple", "Holdfast", "HoldfastTesting", "HoldfastTests",
    ]
    package.products.removeAll { !["Holdfast", "HoldfastTesting"].contains($0.name) }
    package.targets.removeAll { !left.contains($0.name) }
    for target in package.targets {
        target.dependencies.removeAll {
            switch $0 {
            case .byNameItem(let name, _), .targetItem(let name, _): !left.contains(name)
            default: false
            }
        }
    }
    package.targets.first { $0.name == "HoldfastTests" }?.exclude = [
        "BadInput", "Bytes", "HTTP2", "Inline", "Loop", "Secrecy", "Ways", "Client/CancellationTests.swift",
        "Client/ConnectErrorsTests.swift",
        "Client/EchoServer.swift", "Client/EdgesTests.swift", "Client/EndingsTests.swift", "Observation/SightSecretTests.swift",
        "Observation/SightTracingTests.swift", "Observation/SightTrafficTests.swift", "Pains/CompressionPainsTests.swift",
        "Pains/ControlFramePainsTests.swift", "Pains/LifePainsTests.swift", "Pains/MessagePainsTests.swift",
        "Pains/NetworkPainsTests.swift", "Pains/SwiftWebSocketFailuresTests.swift", "Session/SessionCredentialTests.swift",
        "Session/SessionHeartbeatTests.swift", "Session/SessionMeetingTests.swift", "Session/SessionNetworkTests.swift",
        "Session/SessionSendingLinkTests.swift",
        "TLS/TLSTests.swift", "TLS/TrustGateTests.swift", "TLS/TrustPeer.swift", "TLS/TrustTests.swift",
        "Transports/TransportKind+Network.swift", "Transports/TransportLifeTests.swift", "Transports/WrittenMarkTests.swift",
    ]
}
