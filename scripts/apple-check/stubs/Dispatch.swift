// https://developer.apple.com/documentation/dispatch/dispatchqueue
open class DispatchObject { init() {} }
open class DispatchQueue: DispatchObject, @unchecked Sendable {
    // …/dispatchqueue/init(label:qos:attributes:autoreleasefrequency:target:), the parameters with defaults left out
    public init(label: String) { super.init() }
}
