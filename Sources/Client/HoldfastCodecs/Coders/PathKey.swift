/// A step of a coding path: a key of a map, or a place in an array.
struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
    init(intValue: Int) { (stringValue, self.intValue) = (String(intValue), intValue) }
    init(index: Int) { (stringValue, intValue) = ("Index \(index)", index) }

    static let `super` = PathKey(stringValue: "super")
}
