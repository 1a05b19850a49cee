// swift-tools-version: 6.0
// A Swift Playgrounds app: opens in Xcode, or in Swift Playgrounds on a Mac or an iPad.
import AppleProductTypes
import PackageDescription

let package = Package(
    name: "HoldfastChat",
    platforms: [.iOS("17.0")],
    products: [
        .iOSApplication(
            name: "HoldfastChat",
            targets: ["HoldfastChat"],
            bundleIdentifier: "dev.holdfast.chat",
            displayVersion: "1.0",
            bundleVersion: "1",
            appIcon: .placeholder(icon: .chatMessage),
            accentColor: .presetColor(.indigo),
            supportedDeviceFamilies: [.pad, .phone],
            supportedInterfaceOrientations: [.portrait, .landscapeRight, .landscapeLeft],
            capabilities: [
                .localNetwork(purposeString: "To reach a hub that runs on your Mac.", bonjourServiceTypes: []),
                .outgoingNetworkConnections(),
            ]
        )
    ],
    dependencies: [.package(name: "holdfast", path: "../..")],
    targets: [
        .executableTarget(
            name: "HoldfastChat",
            dependencies: [
                .product(name: "Holdfast", package: "holdfast"),
                .product(name: "HoldfastQuotes", package: "holdfast"),
                .product(name: "HoldfastRooms", package: "holdfast"),
                .product(name: "HoldfastUI", package: "holdfast"),
            ],
            path: ".",
            exclude: ["README.md"]
        )
    ],
    swiftLanguageModes: [.v6]
)
