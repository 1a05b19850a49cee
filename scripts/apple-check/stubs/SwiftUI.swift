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
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
    public static func buildEither<T: View, F: View>(first: T) -> _ConditionalContent<T, F> { fatalError() }
    public static func buildEither<T: View, F: View>(second: F) -> _ConditionalContent<T, F> { fatalError() }
}
public struct TupleView<T>: View { public var body: Never { fatalError() } }
public struct _ConditionalContent<T: View, F: View>: View { public var body: Never { fatalError() } }
extension Optional: View where Wrapped: View { public var body: Never { fatalError() } }
// hstack, vstack, lazyvstack, verticalalignment, horizontalalignment
public struct VerticalAlignment: Sendable { public static let center = VerticalAlignment() }
public struct HorizontalAlignment: Sendable { public static let center = HorizontalAlignment(), leading = center, trailing = center }
public struct HStack<Content: View>: View {
    public init(alignment: VerticalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
public struct VStack<Content: View>: View {
    public init(alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
@available(macOS 11.0, iOS 14.0, *)
public struct LazyVStack<Content: View>: View {
    public init(alignment: HorizontalAlignment = .center, spacing: CGFloat? = nil, @ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
// spacer, divider, scrollview, scrollviewreader, scrollviewproxy/scrollto(_:anchor:)
public struct Spacer: View {
    public init(minLength: CGFloat? = nil) {}
    public var body: Never { fatalError() }
}
public struct Divider: View {
    public init() {}
    public var body: Never { fatalError() }
}
public struct ScrollView<Content: View>: View {
    public init(@ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
@available(macOS 11.0, iOS 14.0, *)
public struct ScrollViewReader<Content: View>: View {
    public init(@ViewBuilder content: @escaping (ScrollViewProxy) -> Content) {}
    public var body: Never { fatalError() }
}
@available(macOS 11.0, iOS 14.0, *)
public struct ScrollViewProxy { public func scrollTo<ID: Hashable>(_ id: ID) {} }
// foreach/init(_:content:)
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content: View>: View {
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content) where ID == Data.Element.ID, Data.Element: Identifiable {}
    public var body: Never { fatalError() }
}
// button, textfield/init(_:text:axis:), binding
public struct Button<Label: View>: View {
    @preconcurrency public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) {}
    public var body: Never { fatalError() }
}
extension Button where Label == Text {
    @preconcurrency public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) {}
}
public struct Binding<Value> {
    @preconcurrency public init(
        get: @escaping @isolated(any) @Sendable () -> Value, set: @escaping @isolated(any) @Sendable (Value) -> Void
    ) {}
}
// state
@propertyWrapper public struct State<Value> {
    public init(wrappedValue value: Value) {}
    public var wrappedValue: Value { get { fatalError() } nonmutating set {} }
}
extension State where Value: ExpressibleByNilLiteral { public init() {} }
extension State: Sendable where Value: Sendable {}
public struct Axis: Sendable { public static let vertical = Axis() }
public struct TextField<Label: View>: View { public var body: Never { fatalError() } }
extension TextField where Label == Text {
    @available(macOS 13.0, iOS 16.0, *)
    public init<S: StringProtocol>(_ title: S, text: Binding<String>, axis: Axis) {}
}
// image/init(systemname:)
@available(macOS 11.0, iOS 13.0, *)
public struct Image: View {
    public init(systemName: String) {}
    public var body: Never { fatalError() }
}
// text/init(verbatim:), text/italic(_:)
public struct Text: View {
    public init(verbatim content: String) {}
    @available(macOS 13.0, iOS 16.0, *)
    public func italic(_ isActive: Bool) -> Text { self }
    public var body: Never { fatalError() }
}
// font
public struct Font: Hashable, Sendable { public static let headline = Font(), caption = Font() }
// shapestyle, color, hierarchicalshapestyle
public protocol ShapeStyle: Sendable {}
public struct Color: ShapeStyle, Hashable {
    public static let green = Color(), orange = Color(), gray = Color(), red = Color()
}
public struct HierarchicalShapeStyle: ShapeStyle {}
extension ShapeStyle where Self == HierarchicalShapeStyle { public static var secondary: HierarchicalShapeStyle { fatalError() } }
// accessibilitychildbehavior/combine
public struct AccessibilityChildBehavior: Hashable, Sendable {
    public static let combine = AccessibilityChildBehavior(), contain = AccessibilityChildBehavior()
}
// scenephase
@available(macOS 11.0, iOS 14.0, *)
@nonexhaustive public enum ScenePhase: Comparable, Hashable, Sendable { case background, inactive, active }
// view/padding(_:), view/foregroundstyle(_:), view/accessibilityelement(children:), view/accessibilitylabel(_:), view/font(_:),
// view/linelimit(_:), view/disabled(_:), view/onsubmit(of:_:), view/contextmenu(menuitems:), view/onchange(of:initial:_:)
extension View {
    public func padding(_ length: CGFloat) -> some View { Text(verbatim: "") }
    @available(macOS 12.0, iOS 15.0, *)
    public func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View { Text(verbatim: "") }
    public func accessibilityElement(children: AccessibilityChildBehavior) -> some View { Text(verbatim: "") }
    @available(macOS 11.0, iOS 14.0, *)
    public func accessibilityLabel<S: StringProtocol>(_ label: S) -> some View { Text(verbatim: "") }
    public func font(_ font: Font?) -> some View { Text(verbatim: "") }
    public func lineLimit(_ number: Int?) -> some View { Text(verbatim: "") }
    public func disabled(_ disabled: Bool) -> some View { Text(verbatim: "") }
    @available(macOS 12.0, iOS 15.0, *)
    public func onSubmit(_ action: @escaping () -> Void) -> some View { Text(verbatim: "") }
    public func contextMenu<Items: View>(@ViewBuilder menuItems: () -> Items) -> some View { Text(verbatim: "") }
    @available(macOS 14.0, iOS 17.0, *)
    public func onChange<V: Equatable>(of value: V, initial: Bool = false, _ action: @escaping (_ oldValue: V, _ newValue: V) -> Void)
        -> some View
    { Text(verbatim: "") }
}
