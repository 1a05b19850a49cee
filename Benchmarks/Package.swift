// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that users of Holdfast do not fetch the peers.

/// The same settings as in the main package.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .treatAllWarnings(as: .error),
]

let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")

let package = Package(
    name: "holdfast-benchmarks",
    platforms: [.macOS(.v14)],
    dependencies: [
        .package(name: "holdfast", path: ".."),
        // The base of Holdfast, measured alone and with its own WebSocket.
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        // A peer.
        .package(url: "https://github.com/swhitty/FlyingFox.git", exact: "0.27.1"),
    ],
    targets: [
        .target(name: "Measure", path: "Swift/Measure", swiftSettings: strict),
        .executableTarget(
            name: "HoldfastBench",
            dependencies: [
                "Measure", .product(name: "Holdfast", package: "holdfast"), .product(name: "HoldfastServer", package: "holdfast"), nioCore,
            ],
            path: "Swift/HoldfastBench", swiftSettings: strict),
        .executableTarget(
            name: "CodecBench", dependencies: [.product(name: "HoldfastCodecs", package: "holdfast")], path: "Swift/CodecBench",
            swiftSettings: strict),
        .executableTarget(name: "NIOBytes", dependencies: ["Measure", nioCore, nioPosix], path: "Swift/NIOBytes", swiftSettings: strict),
        .executableTarget(
            name: "NIOWebSocketPeer",
            dependencies: [
                "Measure", nioCore, nioPosix, .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            path: "Swift/NIOWebSocketPeer", swiftSettings: strict),
        .executableTarget(
            name: "FlyingFoxPeer",
            dependencies: [.product(name: "FlyingFox", package: "FlyingFox"), .product(name: "FlyingSocks", package: "FlyingFox")],
            path: "Swift/FlyingFoxPeer", swiftSettings: strict),
    ]
)
