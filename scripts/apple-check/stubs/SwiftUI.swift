// https://developer.apple.com/documentation/swiftui/…
@_exported import Foundation
public typealias CGFloat = Double  // corefoundation/cgfloat
// view, viewbuilder
@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}
extension Never: View { public var body: Never { fatalError() } }
@resultBuilder public struct ViewBuilder {
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<(repeat each Content)> { fatalError() }
}
public struct TupleView<T>: View { public var body: Never { fatalError() } }
// hstack, verticalalignment
public struct VerticalAlignment: Sendable { public static let center = VerticalAlignment() }
public struct HStack<Content: View>: View {
    public init(alignment: VerticalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
// image/init(systemname:)
@available(macOS 11.0, iOS 13.0, *)
public struct Image: View {
    public init(systemName: String) {}
    public var body: Never { fatalError() }
}
// text/init(verbatim:)
public struct Text: View {
    public init(verbatim content: String) {}
    public var body: Never { fatalError() }
}
// shapestyle, color
public protocol ShapeStyle: Sendable {}
public struct Color: ShapeStyle, Hashable {
    public static let green = Color(), orange = Color(), gray = Color(), red = Color()
}
// accessibilitychildbehavior/combine
public struct AccessibilityChildBehavior: Hashable, Sendable { public static let combine = AccessibilityChildBehavior() }
// scenephase
@available(macOS 11.0, iOS 14.0, *)
@nonexhaustive public enum ScenePhase: Comparable, Hashable, Sendable { case background, inactive, active }
// view/padding(_:), view/foregroundstyle(_:), view/accessibilityelement(children:)
extension View {
    public func padding(_ length: CGFloat) -> some View { Text(verbatim: "") }
    @available(macOS 12.0, iOS 15.0, *)
    public func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View { Text(verbatim: "") }
    public func accessibilityElement(children: AccessibilityChildBehavior) -> some View { Text(verbatim: "") }
}
