extension Moment {
    /// The earliest of the deadlines of a machine's parts; nil if none of them has any.
    public static func earliest(_ moments: Moment?...) -> Moment? { moments.lazy.compactMap(\.self).min() }
}
