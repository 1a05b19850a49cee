
extension Loss {
    func canary(_ bytes: [UInt8]) -> Int { bytes.span.count }
}
