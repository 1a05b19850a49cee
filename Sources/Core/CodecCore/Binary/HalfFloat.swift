// By hand, for macOS on Intel has no Float16.
extension Double {
    /// The number that a half-precision float of these bits is.
    @usableFromInline init(halfBits bits: UInt16) {
        let (exponent, fraction) = (Int(bits >> 10 & 0x1F), Double(bits & 0x3FF))
        let magnitude: Double
        switch exponent {
        case 0: magnitude = fraction * 0x1p-24
        case 31: magnitude = fraction == 0 ? .infinity : .nan
        default: magnitude = Double(sign: .plus, exponent: exponent - 25, significand: 1024 + fraction)
        }
        self = bits & 0x8000 == 0 ? magnitude : -magnitude
    }

    /// The half-precision float that is this number exactly, if there is one; any NaN is the plainest one.
    @usableFromInline var halfBits: UInt16? {
        if isNaN { return 0x7E00 }
        let sign: UInt16 = self.sign == .minus ? 0x8000 : 0
        let magnitude = magnitude
        if magnitude == 0 { return sign }
        if magnitude == .infinity { return sign | 0x7C00 }
        guard magnitude <= 65504 else { return nil }
        if magnitude < 0x1p-14 {
            let fraction = magnitude * 0x1p24
            guard fraction == fraction.rounded(.towardZero), fraction >= 1 else { return nil }
            return sign | UInt16(fraction)
        }
        let fraction = (magnitude.significand - 1) * 1024
        guard fraction == fraction.rounded(.towardZero) else { return nil }
        return sign | UInt16(magnitude.exponent + 15) << 10 | UInt16(fraction)
    }
}
