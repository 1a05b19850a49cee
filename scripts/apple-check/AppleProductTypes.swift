// The manifest API of Swift Playgrounds apps, as Xcode writes it. It has no documentation.
import PackageDescription

public enum AppIcon: Sendable {
    public enum Placeholder: Sendable { case chatMessage }
    case placeholder(icon: Placeholder)
}
public enum AccentColor: Sendable {
    public enum Preset: Sendable { case indigo }
    case presetColor(Preset)
}
public enum DeviceFamily: Sendable { case pad, phone, mac }
public enum InterfaceOrientation: Sendable { case portrait, portraitUpsideDown, landscapeRight, landscapeLeft }
public struct Capability: Sendable {
    public static func localNetwork(purposeString: String, bonjourServiceTypes: [String]? = nil) -> Capability { Capability() }
    public static func outgoingNetworkConnections() -> Capability { Capability() }
}
extension Product {
    public static func iOSApplication(
        name: String, targets: [String], bundleIdentifier: String? = nil, teamIdentifier: String? = nil, displayVersion: String? = nil,
        bundleVersion: String? = nil, appIcon: AppIcon? = nil, accentColor: AccentColor? = nil, supportedDeviceFamilies: [DeviceFamily],
        supportedInterfaceOrientations: [InterfaceOrientation], capabilities: [Capability] = []
    ) -> Product { .executable(name: name, targets: targets) }
}
