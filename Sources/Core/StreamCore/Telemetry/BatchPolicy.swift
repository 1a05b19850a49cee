/// When collected values are sent together, and how many may wait.
///
/// A batch leaves as soon as one of the limits is reached. Limits of less than one count as one.
public struct BatchPolicy: Hashable, Sendable {
    /// The most values in a batch; by default 200.
    public var count: Int
    /// The most bytes in a batch, unless a single value has more; by default 16 KiB.
    public var bytes: Int
    /// How old the oldest value of a batch may get before it leaves; by default a second.
    public var age: Duration
    /// The most values that may wait, the batch on its way not among them; by default 10,000.
    ///
    /// Where there is no room the oldest gives way.
    public var capacity: Int
    /// The most bytes that may wait; by default 1 MiB.
    public var byteCapacity: Int

    /// A policy.
    public init(
        count: Int = 200, bytes: Int = 16 << 10, age: Duration = .seconds(1), capacity: Int = 10_000, byteCapacity: Int = 1 << 20
    ) {
        (self.count, self.bytes, self.age) = (count, bytes, age)
        (self.capacity, self.byteCapacity) = (capacity, byteCapacity)
    }
}
