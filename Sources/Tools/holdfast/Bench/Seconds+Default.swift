extension Seconds: CustomStringConvertible {
    /// A time that an option has by default.
    init(_ duration: Duration) { self.duration = duration }

    /// As it is written on the command line, for the help.
    var description: String { duration.phrase }
}
