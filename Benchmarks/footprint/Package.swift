// swift-tools-version: 6.2
import PackageDescription

// The contents of an app that only connects. run.py gives the location of Holdfast, the commit, and the program.
let environment = Context.environment
let repository = environment["HOLDFAST_REPOSITORY"] ?? "../.."
let commit = environment["HOLDFAST_COMMIT"] ?? "HEAD"
let wanted = environment["FOOTPRINT"] ?? "default"

/// As in an app's manifest: with the default traits, or without traits.
let holdfast = Package.Dependency.package(url: repository, revision: commit, traits: wanted == "without-nio" ? [] : [.defaults])
let nio = Package.Dependency.package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0")
let tls = Package.Dependency.package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0")

let connect = Target.executableTarget(
    name: "Connect", dependencies: [.product(name: "Holdfast", package: "holdfast")], path: "Connect")
let forgotten = Target.executableTarget(
    name: "Forgotten", dependencies: [.product(name: "HoldfastProtobuf", package: "holdfast")], path: "Forgotten")
let bare = Target.executableTarget(
    name: "Bare",
    dependencies: [
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOWebSocket", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
    ], path: "Bare")

// The dependencies of hummingbird-project/swift-websocket's client that others share. compress-nio is one more. Only resolved.
let peer = Target.executableTarget(
    name: "Peer",
    dependencies: [
        .product(name: "HTTPTypes", package: "swift-http-types"), .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOTransportServices", package: "swift-nio-transport-services"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
    ], path: "Bare")
let ofPeer: [Package.Dependency] = [
    .package(url: "https://github.com/apple/swift-http-types.git", from: "1.0.0"),
    .package(url: "https://github.com/apple/swift-log.git", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.22.0"),
    .package(url: "https://github.com/apple/swift-nio-transport-services.git", from: "1.20.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.0.0"),
]

let variants: [String: (dependencies: [Package.Dependency], targets: [Target])] = [
    "default": ([holdfast, nio, tls], [connect, bare, forgotten]), "without-nio": ([holdfast], [connect]), "bare": ([nio, tls], [bare]),
    "peer": (ofPeer + [nio, tls], [peer]),
]
let variant = variants[wanted]!
let package = Package(
    name: "footprint", platforms: [.macOS(.v14)], dependencies: variant.dependencies, targets: variant.targets)
