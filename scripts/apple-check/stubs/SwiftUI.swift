// https://developer.apple.com/documentation/swiftui/…
@_exported import Foundation
@_exported import Observation
#if !os(Linux)
    public typealias CGFloat = Double  // corefoundation/cgfloat
#endif
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
// group/init(content:)
public struct Group<Content: View>: View {
    public init(@ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
// alignment
public struct Alignment: Sendable { public static let center = Alignment(), leading = center, trailing = center }
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
    public var projectedValue: Binding<Value> { fatalError() }
}
extension State where Value: ExpressibleByNilLiteral { public init() {} }
extension State: Sendable where Value: Sendable {}
// scaledmetric/init(wrappedvalue:)
@available(macOS 11.0, iOS 14.0, *)
@MainActor @preconcurrency @propertyWrapper public struct ScaledMetric<Value: BinaryFloatingPoint> {
    public nonisolated init(wrappedValue: Value) {}
    public var wrappedValue: Value { fatalError() }
}
// environment, environmentvalues/dynamictypesize, dynamictypesize/isaccessibilitysize
@propertyWrapper public struct Environment<Value> {
    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { fatalError() }
}
extension Environment: Sendable where Value: Sendable {}
public struct EnvironmentValues: Sendable {}
@available(macOS 12.0, iOS 15.0, *)
public enum DynamicTypeSize: Hashable, Comparable, CaseIterable, Sendable {
    case large, accessibility1
    public var isAccessibilitySize: Bool { fatalError() }
}
@available(macOS 12.0, iOS 15.0, *)
extension EnvironmentValues { public var dynamicTypeSize: DynamicTypeSize { get { fatalError() } set {} } }
// timelineview, timelineview/context/date, timelineschedule/everyminute
@available(macOS 12.0, iOS 15.0, *)
public protocol TimelineSchedule {}
@available(macOS 12.0, iOS 15.0, *)
public struct EveryMinuteTimelineSchedule: TimelineSchedule, Sendable {}
@available(macOS 12.0, iOS 15.0, *)
public struct PeriodicTimelineSchedule: TimelineSchedule, Sendable {}
@available(macOS 12.0, iOS 15.0, *)
extension TimelineSchedule where Self == PeriodicTimelineSchedule {
    public static func periodic(from startDate: Date, by interval: TimeInterval) -> PeriodicTimelineSchedule { fatalError() }
}
@available(macOS 12.0, iOS 15.0, *)
extension TimelineSchedule where Self == EveryMinuteTimelineSchedule {
    public static var everyMinute: EveryMinuteTimelineSchedule { fatalError() }
}
@available(macOS 12.0, iOS 15.0, *)
public struct TimelineViewDefaultContext { public let date: Date }
@available(macOS 12.0, iOS 15.0, *)
public struct TimelineView<Schedule: TimelineSchedule, Content: View>: View {
    public init(_ schedule: Schedule, @ViewBuilder content: @escaping (TimelineViewDefaultContext) -> Content) {}
    public var body: Never { fatalError() }
}
public struct Axis: Sendable { public static let vertical = Axis() }
public struct TextField<Label: View>: View { public var body: Never { fatalError() } }
extension TextField where Label == Text {
    public init<S: StringProtocol>(_ title: S, text: Binding<String>) {}
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
// app, scene, scenebuilder, windowgroup
@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    @SceneBuilder var body: Body { get }
    init()
}
extension App { public static func main() {} }
@MainActor @preconcurrency public protocol Scene {}
@resultBuilder public struct SceneBuilder { public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content } }
public struct WindowGroup<Content: View>: Scene { public init(@ViewBuilder content: () -> Content) {} }
// tabview, label/init(_:systemimage:), view/tabitem(_:)
public struct TabView<SelectionValue: Hashable, Content: View>: View { public var body: Never { fatalError() } }
extension TabView where SelectionValue == Int { public init(@ViewBuilder content: () -> Content) {} }
@available(macOS 11.0, iOS 14.0, *)
public struct Label<Title: View, Icon: View>: View { public var body: Never { fatalError() } }
@available(macOS 11.0, iOS 14.0, *)
extension Label where Title == Text, Icon == Image {
    public init<S: StringProtocol>(_ title: S, systemImage name: String) {}
}
// navigationstack, form, list/init(_:id:rowcontent:), section, progressview
public struct NavigationPath: Sendable {}
@available(macOS 13.0, iOS 16.0, *)
public struct NavigationStack<Data, Root: View>: View { public var body: Never { fatalError() } }
@available(macOS 13.0, iOS 16.0, *)
extension NavigationStack where Data == NavigationPath { public init(@ViewBuilder root: () -> Root) {} }
public struct Form<Content: View>: View {
    public init(@ViewBuilder content: () -> Content) {}
    public var body: Never { fatalError() }
}
public struct List<SelectionValue: Hashable, Content: View>: View { public var body: Never { fatalError() } }
extension List where SelectionValue == Never {
    public init<Data: RandomAccessCollection, ID: Hashable, RowContent: View>(
        _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder rowContent: @escaping (Data.Element) -> RowContent
    ) where Content == ForEach<Data, ID, RowContent> {}
}
public struct EmptyView: View {
    public init() {}
    public var body: Never { fatalError() }
}
public struct Section<Parent, Content: View, Footer>: View { public var body: Never { fatalError() } }
extension Section where Parent == EmptyView, Footer == EmptyView { public init(@ViewBuilder content: () -> Content) {} }
extension Section where Parent == Text, Footer == EmptyView {
    public init<S: StringProtocol>(_ title: S, @ViewBuilder content: () -> Content) {}
}
@available(macOS 11.0, iOS 14.0, *)
public struct ProgressView<Label: View, CurrentValueLabel: View>: View { public var body: Never { fatalError() } }
@available(macOS 11.0, iOS 14.0, *)
extension ProgressView where Label == EmptyView, CurrentValueLabel == EmptyView { public init() {} }
// bindable
@available(macOS 14.0, iOS 17.0, *)
@dynamicMemberLookup @propertyWrapper public struct Bindable<Value> {
    public var wrappedValue: Value
    public var projectedValue: Bindable<Value> { self }
    public init(wrappedValue: Value) where Value: AnyObject { self.wrappedValue = wrappedValue }
    public subscript<Subject>(dynamicMember keyPath: ReferenceWritableKeyPath<Value, Subject>) -> Binding<Subject> where Value: AnyObject {
        fatalError()
    }
}
// font
public struct Font: Hashable, Sendable { public static let headline = Font(), caption = Font(), title2 = Font() }
// shapestyle, color, hierarchicalshapestyle
public protocol ShapeStyle: Sendable {}
public struct Color: ShapeStyle, Hashable {
    public static let green = Color(), orange = Color(), gray = Color(), red = Color(), primary = Color(), secondary = Color()
    public static var accentColor: Color { fatalError() }
    public func opacity(_ opacity: Double) -> Color { self }
}
// shape, insettableshape, roundedrectangle/init(cornerradius:style:)
public protocol Shape: Sendable, View {}
public protocol InsettableShape: Shape {}
public struct RoundedRectangle: InsettableShape {
    public nonisolated init(cornerRadius: CGFloat) {}
    public var body: Never { fatalError() }
}
extension ShapeStyle where Self == Color { public static var red: Color { fatalError() } }
public struct HierarchicalShapeStyle: ShapeStyle {}
extension ShapeStyle where Self == HierarchicalShapeStyle { public static var secondary: HierarchicalShapeStyle { fatalError() } }
// accessibilitychildbehavior/combine
public struct AccessibilityChildBehavior: Hashable, Sendable {
    public static let combine = AccessibilityChildBehavior(), contain = AccessibilityChildBehavior(), ignore = AccessibilityChildBehavior()
}
// accessibilitytraits/isheader
public struct AccessibilityTraits: SetAlgebra, Sendable {
    public static let isHeader = AccessibilityTraits()
    public typealias Element = AccessibilityTraits
    public typealias ArrayLiteralElement = AccessibilityTraits
    public init() {}
    public func contains(_ member: AccessibilityTraits) -> Bool { fatalError() }
    public func union(_ other: AccessibilityTraits) -> AccessibilityTraits { self }
    public func intersection(_ other: AccessibilityTraits) -> AccessibilityTraits { self }
    public func symmetricDifference(_ other: AccessibilityTraits) -> AccessibilityTraits { self }
    public mutating func insert(_ new: AccessibilityTraits) -> (inserted: Bool, memberAfterInsert: AccessibilityTraits) { fatalError() }
    public mutating func remove(_ member: AccessibilityTraits) -> AccessibilityTraits? { fatalError() }
    public mutating func update(with new: AccessibilityTraits) -> AccessibilityTraits? { fatalError() }
    public mutating func formUnion(_ other: AccessibilityTraits) {}
    public mutating func formIntersection(_ other: AccessibilityTraits) {}
    public mutating func formSymmetricDifference(_ other: AccessibilityTraits) {}
}
// scenephase
@available(macOS 11.0, iOS 14.0, *)
@nonexhaustive public enum ScenePhase: Comparable, Hashable, Sendable { case background, inactive, active }
// view/padding(_:), view/foregroundstyle(_:), view/accessibilityelement(children:), view/accessibilitylabel(_:), view/font(_:),
// view/accessibilityaddtraits(_:), view/accessibilityhidden(_:), view/accessibilityactions(_:), view/frame(maxwidth:alignment:),
// view/background(_:in:fillstyle:), view/linelimit(_:), view/disabled(_:), view/onsubmit(of:_:), view/contextmenu(menuitems:), view/onchange(of:initial:_:)
extension View {
    public func padding(_ length: CGFloat) -> some View { Text(verbatim: "") }
    @available(macOS 12.0, iOS 15.0, *)
    public func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View { Text(verbatim: "") }
    public func accessibilityElement(children: AccessibilityChildBehavior) -> some View { Text(verbatim: "") }
    @available(macOS 11.0, iOS 14.0, *)
    public func accessibilityLabel<S: StringProtocol>(_ label: S) -> some View { Text(verbatim: "") }
    @available(macOS 11.0, iOS 14.0, *)
    public func accessibilityAddTraits(_ traits: AccessibilityTraits) -> some View { Text(verbatim: "") }
    @available(macOS 11.0, iOS 14.0, *)
    public func accessibilityHidden(_ hidden: Bool) -> some View { Text(verbatim: "") }
    @available(macOS 13.0, iOS 16.0, *)
    public func accessibilityActions<Content: View>(@ViewBuilder _ content: () -> Content) -> some View { Text(verbatim: "") }
    public func frame(
        minWidth: CGFloat? = nil, idealWidth: CGFloat? = nil, maxWidth: CGFloat? = nil, minHeight: CGFloat? = nil,
        idealHeight: CGFloat? = nil, maxHeight: CGFloat? = nil, alignment: Alignment = .center
    ) -> some View { Text(verbatim: "") }
    @available(macOS 12.0, iOS 15.0, *)
    public func background<S: ShapeStyle, T: InsettableShape>(_ style: S, in shape: T) -> some View { Text(verbatim: "") }
    // view/task(priority:_:), view/tabitem(_:), view/toolbar(content:), view/navigationtitle(_:), view/monospaceddigit()
    @available(macOS 12.0, iOS 15.0, *)
    public func task(
        priority: TaskPriority = .userInitiated, @_inheritActorContext _ action: @escaping @isolated(any) @Sendable () async -> Void
    ) -> some View { Text(verbatim: "") }
    public func tabItem<V: View>(@ViewBuilder _ label: () -> V) -> some View { Text(verbatim: "") }
    @available(macOS 11.0, iOS 14.0, *)
    public func toolbar<Content: View>(@ViewBuilder content: () -> Content) -> some View { Text(verbatim: "") }
    @available(macOS 11.0, iOS 14.0, *)
    public func navigationTitle<S: StringProtocol>(_ title: S) -> some View { Text(verbatim: "") }
    @available(macOS 12.0, iOS 15.0, *)
    public func monospacedDigit() -> some View { Text(verbatim: "") }
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
