import HoldfastProtobuf

/// An app whose manifest does not have the trait that the product needs: it must not build, and the compiler must say why.
@main enum Forgotten {
    static func main() { print(ProtobufCodec.self) }
}
