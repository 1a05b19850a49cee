import HoldfastProtobuf

/// An app whose manifest lacks the trait that the product needs.
///
/// It must not build, and the compiler must say why.
@main enum Forgotten {
    static func main() { print(ProtobufCodec.self) }
}
